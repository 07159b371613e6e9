#include "suites/worker/ranks/crafted_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "models/initial_values.hpp"

namespace reprobench {
namespace {

// 251 is a prime, so that no power of two of elements later the same numbers come again; smaller periods are odd.
constexpr std::int64_t kLargest = 125;
constexpr std::int64_t kDistinctOrdered = std::int64_t{1} << 22;

struct Dtype {
  std::string_view name;
  at::ScalarType type;
  std::int64_t exact_to;  // every whole number up to it, and its negative
};

constexpr std::int64_t kFarEnough = std::int64_t{1} << 24;
constexpr Dtype kDtypes[] = {{"fp32", at::kFloat, kFarEnough}, {"fp64", at::kDouble, kFarEnough},
                             {"bf16", at::kBFloat16, 256},     {"fp16", at::kHalf, 2048},
                             {"int32", at::kInt, kFarEnough},  {"int64", at::kLong, kFarEnough}};
constexpr std::string_view kNames[] = {"fp32", "fp64", "bf16", "fp16", "int32", "int64"};

const Dtype& dtype_named(std::string_view name) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name == name) return dtype;
  }
  throw std::invalid_argument("no collective is asked for type `" + std::string(name) + "`");
}

// Calls `work` with a null pointer of the type.
template <class Work>
void with_type(at::ScalarType type, Work work) {
  switch (type) {
    case at::kFloat:
      return work(static_cast<float*>(nullptr));
    case at::kDouble:
      return work(static_cast<double*>(nullptr));
    case at::kBFloat16:
      return work(static_cast<at::BFloat16*>(nullptr));
    case at::kHalf:
      return work(static_cast<at::Half*>(nullptr));
    case at::kInt:
      return work(static_cast<std::int32_t*>(nullptr));
    case at::kLong:
      return work(static_cast<std::int64_t*>(nullptr));
    default:
      throw std::invalid_argument("a type that no collective is asked for");
  }
}

bool is_whole(std::string_view collective) { return collective == "all_gather" || collective == "all_to_all"; }
bool has_parts(std::string_view collective) { return collective == "reduce_scatter" || collective == "all_to_all"; }

// A copy of its own.
at::Tensor in_type_of(const CraftedCall& call, const at::Tensor& values) {
  return values.to(dtype_named(call.dtype).type, /*non_blocking=*/false, /*copy=*/true);
}

// The same memory as whole numbers, of which a zero has one form and nothing is unequal to itself.
at::Tensor as_bits(const at::Tensor& values) {
  switch (values.element_size()) {
    case 8:
      return values.view(at::kLong);
    case 4:
      return values.view(at::kInt);
    case 2:
      return values.view(at::kShort);
    default:
      return values.view(at::kByte);
  }
}

// "5 (0x40a00000)"
std::string text_of(const at::Tensor& values, std::int64_t element) {
  const auto bytes = static_cast<std::size_t>(values.element_size());
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(values.data_ptr()) + static_cast<std::size_t>(element) * bytes, bytes);
  double value = 0;
  with_type(values.scalar_type(),
            [&](auto* type) { value = static_cast<double>(static_cast<decltype(type)>(values.data_ptr())[element]); });
  char text[64];
  std::snprintf(text, sizeof text, "%.9g (0x%0*llx)", value, static_cast<int>(2 * bytes),
                static_cast<unsigned long long>(bits));
  return text;
}

}  // namespace

std::span<const std::string_view> collective_dtypes() { return kNames; }

at::Tensor empty_values(std::string_view dtype, std::int64_t elements, const c10::Device& where) {
  return at::empty({elements}, at::TensorOptions(where).dtype(dtype_named(dtype).type));
}

std::int64_t element_bytes(std::string_view dtype) {
  return static_cast<std::int64_t>(c10::elementSize(dtype_named(dtype).type));
}

std::int64_t largest_crafted(std::string_view dtype, int ranks) {
  return std::max<std::int64_t>(1, std::min(kLargest, dtype_named(dtype).exact_to / ranks));
}

std::int64_t largest_tensor(const CraftedCall& call) {
  const bool is_of_all = is_whole(call.collective) || has_parts(call.collective);
  return is_of_all ? call.ranks * call.own_elements : call.own_elements;
}

CraftedValues::CraftedValues(std::string_view dtype, int ranks, std::int64_t most_elements, const c10::Device& where)
    : largest_(largest_crafted(dtype, ranks)) {
  const std::int64_t period = 2 * largest_ + 1;
  at::Tensor sequence = at::empty({most_elements + period - 1});
  auto* const to = sequence.data_ptr<float>();
  for (std::int64_t i = 0; i < sequence.numel(); ++i) to[i] = static_cast<float>(i % period - largest_);
  sequence_ = std::make_unique<at::Tensor>(sequence.to(where));
}

CraftedValues::~CraftedValues() = default;

at::Tensor CraftedValues::sent(const CraftedCall& call, int rank, std::int64_t first, std::int64_t count) const {
  if (largest_crafted(call.dtype, call.ranks) != largest_) {
    throw std::invalid_argument("numbers that were crafted for other ranks, or another type");
  }
  return sequence_->narrow(0, (first + 13 * rank + 5 * call.number) % (2 * largest_ + 1), count);
}

at::Tensor CraftedValues::input(const CraftedCall& call, int rank) const {
  const std::int64_t elements = has_parts(call.collective) ? call.ranks * call.own_elements : call.own_elements;
  return in_type_of(call, sent(call, rank, 0, elements));
}

at::Tensor CraftedValues::output(const CraftedCall& call, int rank) const {
  const std::int64_t own = call.own_elements;
  const auto sum_from = [&](std::int64_t first) {
    at::Tensor sum = sent(call, 0, first, own).clone();
    for (int other = 1; other < call.ranks; ++other) sum.add_(sent(call, other, first, own));
    return sum.to(dtype_named(call.dtype).type);
  };
  if (call.collective == "all_reduce") return sum_from(0);
  if (call.collective == "reduce_scatter") return sum_from(rank * own);
  if (call.collective == "reduce") return rank == 0 ? sum_from(0) : at::Tensor();
  if (call.collective == "broadcast") return in_type_of(call, sent(call, 0, 0, own));
  if (call.collective == "send_recv") return in_type_of(call, sent(call, (rank + call.ranks - 1) % call.ranks, 0, own));
  std::vector<at::Tensor> parts;
  for (int other = 0; other < call.ranks; ++other) {
    parts.push_back(sent(call, other, call.collective == "all_gather" ? 0 : rank * own, own));
  }
  return at::cat(parts).to(dtype_named(call.dtype).type);
}

bool has_same_bits(const at::Tensor& one, const at::Tensor& other) {
  if (one.nbytes() != other.nbytes()) return false;
  if (one.is_cpu() && other.is_cpu()) return std::memcmp(one.data_ptr(), other.data_ptr(), one.nbytes()) == 0;
  return one.element_size() == other.element_size() && at::equal(as_bits(one), as_bits(other));
}

std::string wrong_elements(const at::Tensor& result, const at::Tensor& expected) {
  const std::int64_t count = expected.numel();
  if (result.numel() != count)
    return "it has " + std::to_string(result.numel()) + " elements instead of " + std::to_string(count);
  if (has_same_bits(result, expected)) return "";  // found where they lie
  if (result.scalar_type() != expected.scalar_type()) return "its elements are of another type";
  const at::Tensor result_here = result.cpu();
  const at::Tensor expected_here = expected.cpu();
  const auto bytes = static_cast<std::size_t>(expected.element_size());
  const auto* const got = static_cast<const char*>(result_here.data_ptr());
  const auto* const wanted = static_cast<const char*>(expected_here.data_ptr());
  std::int64_t wrong = 0;
  std::int64_t first = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t place = static_cast<std::size_t>(i) * bytes;
    if (std::memcmp(got + place, wanted + place, bytes) == 0) continue;
    if (wrong++ == 0) first = i;
  }
  return "element " + std::to_string(first) + " is " + text_of(result_here, first) + " instead of " +
         text_of(expected_here, first) + "; " + std::to_string(wrong) + " of " + std::to_string(count) +
         " elements are wrong";
}

at::Tensor order_sensitive_values(std::uint64_t seed, int rank, std::int64_t elements) {
  const std::string name = "order_sensitive.rank" + std::to_string(rank);
  const std::int64_t distinct = std::min(elements, kDistinctOrdered);
  const std::vector<float> values = initial_values(seed, name, static_cast<std::size_t>(distinct), 1.0f);
  at::Tensor result = at::empty({elements});
  auto* const to = result.data_ptr<float>();
  const std::uint32_t exponents = tensor_id(name + ".exponent");
  for (std::int64_t i = 0; i < distinct; ++i) {
    const PhiloxBlock block = keyed_block(seed, exponents, 0, static_cast<std::uint64_t>(i / 4));
    to[i] = std::ldexp(values[static_cast<std::size_t>(i)], static_cast<int>(block.word[i % 4] % 25) - 12);
  }
  for (std::int64_t i = distinct; i < elements; ++i) to[i] = to[i - distinct];
  return result;
}

}  // namespace reprobench
