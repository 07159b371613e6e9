// Numbers to send between ranks. Whole ones have sums that are exact in any order, so every element of every result is
// known. Others have a sum that depends on the order, so that another order shows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace reprobench {

// The types in which collectives are measured, as labels write them: "fp32", "fp64", "bf16", "fp16", "int32", "int64".
std::span<const std::string_view> collective_dtypes();

// An uninitialised tensor of one dimension. Throws std::invalid_argument for a type that is not among
// collective_dtypes().
at::Tensor empty_values(std::string_view dtype, std::int64_t elements, const c10::Device& where);
std::int64_t element_bytes(std::string_view dtype);

// One call of a collective. Different calls send different numbers, so that numbers left from an earlier call are
// wrong.
struct CraftedCall {
  std::string_view collective;  // a row of contract/collective.cpp
  int ranks = 1;
  std::int64_t own_elements = 0;  // those of one rank: its part, where parts are gathered or scattered
  std::int64_t number = 0;
  std::string_view dtype = "fp32";
};

// The largest of the whole numbers that a rank sends, which go down to its negative. It is 125, or less where the type
// could not hold the sum over all ranks. By its significant bits, bf16 counts without a gap to 2^8 and fp16 to 2^11.
std::int64_t largest_crafted(std::string_view dtype, int ranks);

// The numbers of all calls of one type between `ranks` ranks whose tensors have at most `most_elements` elements. One
// sequence, which repeats after `2 * largest_crafted() + 1` numbers, lies on the device. A call sends a copy of a part
// of it, so nothing is uploaded call by call. The sequence is kept and added up in fp32, in which all of this is exact:
// no arithmetic of a narrower type goes into the expected results.
class CraftedValues {
 public:
  CraftedValues(std::string_view dtype, int ranks, std::int64_t most_elements, const c10::Device& where);
  ~CraftedValues();
  CraftedValues(const CraftedValues&) = delete;
  CraftedValues& operator=(const CraftedValues&) = delete;

  // The tensor that a rank brings. Throws std::invalid_argument for a call of another type, or between other ranks.
  at::Tensor input(const CraftedCall& call, int rank) const;

  // The tensor that the rank must hold afterwards; undefined where its contents have no meaning.
  at::Tensor output(const CraftedCall& call, int rank) const;

 private:
  // The numbers that `rank` sends in its elements from `first` on; shares the sequence's memory.
  at::Tensor sent(const CraftedCall& call, int rank, std::int64_t first, std::int64_t count) const;

  std::int64_t largest_;
  std::unique_ptr<at::Tensor> sequence_;
};

// The number of elements of the largest tensor in such a call.
std::int64_t largest_tensor(const CraftedCall& call);

// "element 513 is 5 (0x40a00000) instead of 12 (0x41400000); 2 of 1024 elements are wrong"; empty if none is. Compares
// bits, on whatever device the tensors lie.
std::string wrong_elements(const at::Tensor& result, const at::Tensor& expected);
bool has_same_bits(const at::Tensor& one, const at::Tensor& other);

// The numbers of a rank: bell-shaped ones times powers of two from 2^-12 to 2^12, the same on every stack. They repeat
// after 2^22 elements.
at::Tensor order_sensitive_values(std::uint64_t seed, int rank, std::int64_t elements);

}  // namespace reprobench
