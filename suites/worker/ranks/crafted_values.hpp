// Numbers to send between ranks: whole ones whose sums are exact in any order, so that every element of every result is
// known; and ones whose sum depends on the order, so that another order shows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

// One call of a collective. Different calls send different numbers: what is left of an earlier one is wrong.
struct CraftedCall {
  std::string_view collective;  // a row of contract/collective.cpp
  int ranks = 1;
  std::int64_t own_elements = 0;  // what one rank holds of its own: its part, where parts are gathered or scattered
  std::int64_t number = 0;
};

// What a rank brings, whole fp32 numbers within +-125.
at::Tensor crafted_input(const CraftedCall& call, int rank);

// What it must hold afterwards; undefined where it holds nothing of meaning.
at::Tensor crafted_output(const CraftedCall& call, int rank);

// "element 513 is 5 (0x40a00000) instead of 12 (0x41400000); 2 of 1024 elements are wrong"; empty: none is. By bits.
std::string wrong_elements(const at::Tensor& result, const at::Tensor& expected);

// Of a rank: bell-shaped numbers times powers of two from 2^-12 to 2^12, the same on every stack.
at::Tensor order_sensitive_values(std::uint64_t seed, int rank, std::int64_t elements);

}  // namespace reprobench
