// Numbers to send between ranks: whole ones whose sums are exact in any order, so that every element of every result is
// known; and ones whose sum depends on the order, so that another order shows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

// The types that collectives are asked for, as labels say them: "fp32", "fp64", "bf16", "fp16", "int32", "int64".
std::span<const std::string_view> collective_dtypes();

// Uninitialised, flat. Throws std::invalid_argument for a type that is not among them.
at::Tensor empty_values(std::string_view dtype, std::int64_t elements);
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

// What a rank brings.
at::Tensor crafted_input(const CraftedCall& call, int rank);

// What it must hold afterwards; undefined where it holds nothing of meaning.
at::Tensor crafted_output(const CraftedCall& call, int rank);

// "element 513 is 5 (0x40a00000) instead of 12 (0x41400000); 2 of 1024 elements are wrong"; empty: none is. By bits.
std::string wrong_elements(const at::Tensor& result, const at::Tensor& expected);
bool has_same_bits(const at::Tensor& one, const at::Tensor& other);

// Of a rank: bell-shaped numbers times powers of two from 2^-12 to 2^12, the same on every stack. Where there are more
// than 2^22 of them they come again.
at::Tensor order_sensitive_values(std::uint64_t seed, int rank, std::int64_t elements);

}  // namespace reprobench
