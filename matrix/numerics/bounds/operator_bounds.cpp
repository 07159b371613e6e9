#include "matrix/numerics/bounds/operator_bounds.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "kernels/diff/diff.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"

namespace reprobench {
namespace {

constexpr StoredType kStoredTypes[] = {
    {"F32", kRoundoff, 0,
     std::numeric_limits<double>::infinity()},  // local_error() sees to the smallest numbers; no sum came near its end
    {"BF16", 0x1p-8, 0x1p-134, 0x1.ffp127},
    {"F16", 0x1p-11, 0x1p-25, 65520},
};

}  // namespace

const StoredType* stored_type(std::string_view dtype) {
  const auto* const found = std::find_if(std::begin(kStoredTypes), std::end(kStoredTypes),
                                         [&](const auto& type) { return type.dtype == dtype; });
  return found == std::end(kStoredTypes) ? nullptr : found;
}

std::int64_t element_count(const TensorView& view) {
  std::int64_t count = 1;
  for (const std::int64_t extent : view.shape) count *= extent;
  return count;
}

Doubles doubles_of(const TensorView& view) {
  const ElementType type = element_type_of(view.dtype);
  const std::size_t size = element_bytes(type);
  Doubles values(static_cast<std::size_t>(element_count(view)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, view.bytes.data() + i * size, size);
    values[i] = element_value(type, bits);
  }
  return values;
}

const TensorView* CapturedCall::tensor(std::string_view kind, std::size_t place) const {
  return find_tensor(tensors, fmt::format("{}.{}", kind, place));
}

Doubles CapturedCall::values(std::string_view kind, std::size_t place) const {
  const TensorView* view = tensor(kind, place);
  return view == nullptr ? Doubles{} : doubles_of(*view);
}

std::int64_t CapturedCall::input_extent(std::size_t input, int from_the_end) const {
  const TensorView* view = tensor("input", input);
  const auto rank = view == nullptr ? 0 : static_cast<int>(view->shape.size());
  return rank < from_the_end ? 0 : view->shape[static_cast<std::size_t>(rank - from_the_end)];
}

const StoredType& CapturedCall::type_of_input(std::size_t place) const {
  const TensorView* view = tensor("input", place);
  const StoredType* type = view == nullptr ? nullptr : stored_type(view->dtype);
  return type == nullptr ? kStoredTypes[0] : *type;
}

Doubles times_result(const CapturedCall& captured, double roundings) {
  Doubles bound;
  for (const double exact : captured.exact) bound.push_back(roundings * kRoundoff * std::abs(exact));
  return bound;
}

Doubles no_rounding(const CapturedCall& captured) { return Doubles(captured.exact.size(), 0); }
// A scalar factor is rounded to the type of the result, and the result.
Doubles two_roundings(const CapturedCall& captured) {
  return times_result(captured, 1 + captured.stored_roundoff / kRoundoff);
}

Doubles of_magnitude(const CapturedCall& captured, double terms, double of_inputs) {
  const Doubles sizes = captured.values("magnitude", captured.output);
  if (sizes.size() != captured.exact.size()) return {};
  Doubles bound;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double exact = std::abs(captured.exact[i]);
    if (sizes[i] < exact * (1 - 1e-9)) return {};  // a factor is negative: these are no sums of sizes
    bound.push_back((gamma_n(terms) + of_inputs) * sizes[i] + kRoundoff * exact);
  }
  return bound;
}

Lines lines_of(const CapturedCall& captured) {
  const TensorView* input = captured.tensor("input", 0);
  if (input == nullptr) return {};
  const int dimension = std::atoi(captured.call.constants.c_str());
  const auto rank = static_cast<int>(input->shape.size());
  const int place = dimension < 0 ? dimension + rank : dimension;
  if (place < 0 || place >= rank) return {};
  Lines lines{1, static_cast<std::size_t>(input->shape[static_cast<std::size_t>(place)]), 1};
  for (int i = 0; i < rank; ++i) {
    if (i < place) lines.outer *= static_cast<std::size_t>(input->shape[static_cast<std::size_t>(i)]);
    if (i > place) lines.inner *= static_cast<std::size_t>(input->shape[static_cast<std::size_t>(i)]);
  }
  return lines;
}

}  // namespace reprobench
