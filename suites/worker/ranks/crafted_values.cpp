#include "suites/worker/ranks/crafted_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

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

// What `rank` sends from element `first` on.
struct Sequence {
  std::int64_t period;
  std::int64_t at;

  Sequence(const CraftedCall& call, int rank, std::int64_t first)
      : period(2 * largest_crafted(call.dtype, call.ranks) + 1), at((first + 13 * rank + 5 * call.number) % period) {}
  std::int64_t next() {
    const std::int64_t value = at - period / 2;
    if (++at == period) at = 0;
    return value;
  }
};

// Of some ranks the sum of what they send from element `first` on, in whole numbers: no arithmetic of the type's own
// goes into what is expected.
void put_sum(const CraftedCall& call, int first_rank, int ranks, std::int64_t first, at::Tensor& to, std::int64_t begin,
             std::int64_t count) {
  std::vector<Sequence> sequences;
  for (int rank = first_rank; rank < first_rank + ranks; ++rank) sequences.emplace_back(call, rank, first);
  with_type(to.scalar_type(), [&](auto* type) {
    auto* const place = static_cast<decltype(type)>(to.data_ptr()) + begin;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t sum = 0;
      for (Sequence& sequence : sequences) sum += sequence.next();
      place[i] = static_cast<std::remove_pointer_t<decltype(type)>>(static_cast<float>(sum));
    }
  });
}

bool has_parts(std::string_view collective) { return collective == "reduce_scatter" || collective == "all_to_all"; }

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

at::Tensor empty_values(std::string_view dtype, std::int64_t elements) {
  return at::empty({elements}, dtype_named(dtype).type);
}

std::int64_t element_bytes(std::string_view dtype) {
  return static_cast<std::int64_t>(c10::elementSize(dtype_named(dtype).type));
}

std::int64_t largest_crafted(std::string_view dtype, int ranks) {
  return std::max<std::int64_t>(1, std::min(kLargest, dtype_named(dtype).exact_to / ranks));
}

at::Tensor crafted_input(const CraftedCall& call, int rank) {
  const std::int64_t elements = has_parts(call.collective) ? call.ranks * call.own_elements : call.own_elements;
  at::Tensor input = empty_values(call.dtype, elements);
  put_sum(call, rank, 1, 0, input, 0, elements);
  return input;
}

at::Tensor crafted_output(const CraftedCall& call, int rank) {
  const std::int64_t own = call.own_elements;
  if (call.collective == "reduce" && rank != 0) return {};
  const bool is_whole = call.collective == "all_gather" || call.collective == "all_to_all";
  at::Tensor output = empty_values(call.dtype, is_whole ? call.ranks * own : own);
  if (call.collective == "broadcast") put_sum(call, 0, 1, 0, output, 0, own);
  if (call.collective == "send_recv") put_sum(call, (rank + call.ranks - 1) % call.ranks, 1, 0, output, 0, own);
  if (call.collective == "all_reduce" || call.collective == "reduce") put_sum(call, 0, call.ranks, 0, output, 0, own);
  if (call.collective == "reduce_scatter") put_sum(call, 0, call.ranks, rank * own, output, 0, own);
  for (int other = 0; is_whole && other < call.ranks; ++other) {
    put_sum(call, other, 1, call.collective == "all_gather" ? 0 : rank * own, output, other * own, own);
  }
  return output;
}

bool has_same_bits(const at::Tensor& one, const at::Tensor& other) {
  return one.nbytes() == other.nbytes() && std::memcmp(one.data_ptr(), other.data_ptr(), one.nbytes()) == 0;
}

std::string wrong_elements(const at::Tensor& result, const at::Tensor& expected) {
  const std::int64_t count = expected.numel();
  if (result.numel() != count)
    return "it has " + std::to_string(result.numel()) + " elements instead of " + std::to_string(count);
  if (has_same_bits(result, expected)) return "";
  if (result.scalar_type() != expected.scalar_type()) return "its elements are of another type";
  const auto bytes = static_cast<std::size_t>(expected.element_size());
  const auto* const got = static_cast<const char*>(result.data_ptr());
  const auto* const wanted = static_cast<const char*>(expected.data_ptr());
  std::int64_t wrong = 0;
  std::int64_t first = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t place = static_cast<std::size_t>(i) * bytes;
    if (std::memcmp(got + place, wanted + place, bytes) == 0) continue;
    if (wrong++ == 0) first = i;
  }
  return "element " + std::to_string(first) + " is " + text_of(result, first) + " instead of " +
         text_of(expected, first) + "; " + std::to_string(wrong) + " of " + std::to_string(count) +
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
