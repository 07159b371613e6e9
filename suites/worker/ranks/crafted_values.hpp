// Numbers to send between ranks: whole ones whose sums are exact in any order, so that every element of every result is
// known; and ones whose sum depends on the order, so that another order shows.
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

// The types that collectives are asked for, as labels say them: "fp32", "fp64", "bf16", "fp16", "int32", "int64".
std::span<const std::string_view> collective_dtypes();

// Uninitialised, flat. Throws std::invalid_argument for a type that is not among them.
at::Tensor empty_values(std::string_view dtype, std::int64_t elements, const c10::Device& where);
std::int64_t element_bytes(std::string_view dtype);

// One call of a collective. Different calls send different numbers: what is left of an earlier one is wrong.
struct CraftedCall {
  std::string_view collective;  // a row of contract/collective.cpp
  int ranks = 1;
  std::int64_t own_elements = 0;  // what one rank holds of its own: its part, where parts are gathered or scattered
  std::int64_t number = 0;
  std::string_view dtype = "fp32";
};

// The largest of the whole numbers a rank sends, and of their negatives: 125, or less where the type could not hold the
// sum over all ranks: it counts without a gap to 2^8 (bf16) or 2^11 (fp16), being that many significant bits.
std::int64_t largest_crafted(std::string_view dtype, int ranks);

// The numbers of all calls of one type between so many ranks whose tensors have at most so many elements: one sequence
// that comes again after `2 * largest_crafted() + 1` numbers lies on the device, and what a call sends is
// a copy of some of it, so nothing is uploaded call by call. It is kept and added up in fp32, in which all of this is
// exact: no arithmetic of a narrower type's own goes into what is expected.
class CraftedValues {
 public:
  CraftedValues(std::string_view dtype, int ranks, std::int64_t most_elements, const c10::Device& where);
  ~CraftedValues();
  CraftedValues(const CraftedValues&) = delete;
  CraftedValues& operator=(const CraftedValues&) = delete;

  // What a rank brings. Throws std::invalid_argument for a call of another type, or between other ranks.
  at::Tensor input(const CraftedCall& call, int rank) const;

  // What it must hold afterwards; undefined where it holds nothing of meaning.
  at::Tensor output(const CraftedCall& call, int rank) const;

 private:
  // What `rank` sends in its elements from `first` on; shares the sequence's memory.
  at::Tensor sent(const CraftedCall& call, int rank, std::int64_t first, std::int64_t count) const;

  std::int64_t largest_;
  std::unique_ptr<at::Tensor> sequence_;
};

// Elements of the largest tensor of such calls.
std::int64_t largest_tensor(const CraftedCall& call);

// "element 513 is 5 (0x40a00000) instead of 12 (0x41400000); 2 of 1024 elements are wrong"; empty: none is. By bits,
// wherever they lie.
std::string wrong_elements(const at::Tensor& result, const at::Tensor& expected);
bool has_same_bits(const at::Tensor& one, const at::Tensor& other);

// Of a rank: bell-shaped numbers times powers of two from 2^-12 to 2^12, the same on every stack. Where there are more
// than 2^22 of them they come again.
at::Tensor order_sensitive_values(std::uint64_t seed, int rank, std::int64_t elements);

}  // namespace reprobench
