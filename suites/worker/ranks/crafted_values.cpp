#include "suites/worker/ranks/crafted_values.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "matrix/contract/collective.hpp"
#include "matrix/contract/number.hpp"
#include "models/initial_values.hpp"

namespace reprobench {
namespace {

// A prime, so that no power of two of elements later the same numbers come again.
constexpr std::int64_t kPeriod = 251;
constexpr std::int64_t kMiddle = 125;

// Adds what `rank` sends in its elements from `first` on.
void add_values(const CraftedCall& call, int rank, std::int64_t first, float* to, std::int64_t count) {
  std::int64_t at = (first + 13 * rank + 5 * call.number) % kPeriod;
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] += static_cast<float>(at - kMiddle);
    if (++at == kPeriod) at = 0;
  }
}

bool has_parts(std::string_view collective) { return collective == "reduce_scatter" || collective == "all_to_all"; }

std::string hex_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  char text[64];
  std::snprintf(text, sizeof text, "%.9g (0x%08x)", static_cast<double>(value), bits);
  return text;
}

}  // namespace

at::Tensor crafted_input(const CraftedCall& call, int rank) {
  const std::int64_t elements = has_parts(call.collective) ? call.ranks * call.own_elements : call.own_elements;
  at::Tensor input = at::zeros({elements});
  add_values(call, rank, 0, input.data_ptr<float>(), elements);
  return input;
}

at::Tensor crafted_output(const CraftedCall& call, int rank) {
  const std::int64_t own = call.own_elements;
  const bool is_whole = call.collective == "all_gather" || call.collective == "all_to_all";
  at::Tensor output = at::zeros({is_whole ? call.ranks * own : own});
  auto* const to = output.data_ptr<float>();
  const auto sum_from = [&](std::int64_t first) {
    for (int other = 0; other < call.ranks; ++other) add_values(call, other, first, to, own);
  };
  if (call.collective == "all_reduce") sum_from(0);
  if (call.collective == "reduce_scatter") sum_from(rank * own);
  if (call.collective == "broadcast") add_values(call, 0, 0, to, own);
  if (call.collective == "send_recv") add_values(call, (rank + call.ranks - 1) % call.ranks, 0, to, own);
  if (call.collective == "reduce") {
    if (rank != 0) return {};
    sum_from(0);
  }
  for (int other = 0; is_whole && other < call.ranks; ++other) {
    add_values(call, other, call.collective == "all_gather" ? 0 : rank * own, to + other * own, own);
  }
  return output;
}

std::string wrong_elements(const at::Tensor& result, const at::Tensor& expected) {
  const auto* const got = result.data_ptr<float>();
  const auto* const wanted = expected.data_ptr<float>();
  const std::int64_t count = expected.numel();
  if (result.numel() != count)
    return "it has " + std::to_string(result.numel()) + " elements instead of " + std::to_string(count);
  if (std::memcmp(got, wanted, static_cast<std::size_t>(count) * sizeof(float)) == 0) return "";
  std::int64_t wrong = 0;
  std::int64_t first = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::memcmp(got + i, wanted + i, sizeof(float)) == 0) continue;
    if (wrong++ == 0) first = i;
  }
  return "element " + std::to_string(first) + " is " + hex_of(got[first]) + " instead of " + hex_of(wanted[first]) +
         "; " + std::to_string(wrong) + " of " + std::to_string(count) + " elements are wrong";
}

at::Tensor order_sensitive_values(std::uint64_t seed, int rank, std::int64_t elements) {
  const std::string name = "order_sensitive.rank" + std::to_string(rank);
  const std::vector<float> values = initial_values(seed, name, static_cast<std::size_t>(elements), 1.0f);
  at::Tensor result = at::empty({elements});
  auto* const to = result.data_ptr<float>();
  const std::uint32_t exponents = tensor_id(name + ".exponent");
  for (std::int64_t i = 0; i < elements; ++i) {
    const PhiloxBlock block = keyed_block(seed, exponents, 0, static_cast<std::uint64_t>(i / 4));
    to[i] = std::ldexp(values[static_cast<std::size_t>(i)], static_cast<int>(block.word[i % 4] % 25) - 12);
  }
  return result;
}

}  // namespace reprobench
