#include "matrix/numerics/bounds/local_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "kernels/diff/diff.hpp"
#include "matrix/numerics/bounds/operator_bounds.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"

namespace reprobench {
namespace {

constexpr double kSmallest = 0x1p-126;  // below it numbers lose bits, or are taken for zero

// "aten::add_" as "add": in place it computes the same.
std::string plain_name(const std::string& name) {
  std::string plain = name.rfind("aten::", 0) == 0 ? name.substr(6) : name;
  if (plain.size() > 1 && plain.back() == '_') plain.pop_back();
  return plain;
}

const BoundRow* row_of(const std::string& name) {
  const std::string plain = plain_name(name);
  for (const auto* rows : {&forward_bounds(), &backward_bounds(), &attention_bounds()}) {
    const auto found = std::find_if(rows->begin(), rows->end(), [&](const BoundRow& row) {
      return std::find(row.names.begin(), row.names.end(), plain) != row.names.end();
    });
    if (found != rows->end()) return &*found;
  }
  return nullptr;
}

// One for each element, and a number wherever the result is one.
bool is_given(const Doubles& bound, const Doubles& exact) {
  if (bound.empty() || bound.size() != exact.size()) return false;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (std::isfinite(exact[i]) && !std::isfinite(bound[i])) return false;
  }
  return true;
}

// Each number is what fp32 made of it before it is rounded.
void add_roundings(const StoredType& type, int roundings, const Doubles& exact, Doubles& bound) {
  for (std::size_t i = 0; i < bound.size(); ++i) {
    bound[i] += roundings * (type.roundoff * (std::abs(exact[i]) + bound[i]) + type.half_of_smallest);
  }
}

// Under autocast `linear` takes fp32 and makes 16 bits: it calls what rounds its operands, and then what multiplies
// them.
bool rounds_operands(const CapturedCall& captured) {
  constexpr std::size_t kMostOperands = 3;
  for (std::size_t i = 0; i < kMostOperands; ++i) {
    const TensorView* operand = captured.tensor("input", i);
    if (operand != nullptr && operand->dtype == "F32") return true;
  }
  return false;
}

// Empty, with the reason: there is none.
Doubles bound_of(const BoundRow& row, const CapturedCall& captured, const StoredType& type, LocalError& error) {
  if (type.is_16_bits() && row.sixteen_bits.source == nullptr) {
    error.no_bound = fmt::format("no bound is derived for {} in 16 bits", captured.call.name);
    return {};
  }
  if (type.is_16_bits() && row.sums_products && captured.settings.may_sum_in_16_bits) {
    error.no_bound = "16-bit products may be summed up in 16 bits: reduced_reduction, fp16_accumulation";
    return {};
  }
  if (type.is_16_bits() && row.multiplies_operands && rounds_operands(captured)) {
    error.no_bound = fmt::format("{} rounds its operands to 16 bits before it multiplies them", captured.call.name);
    return {};
  }
  Doubles bound = row.bound(captured);
  if (!is_given(bound, captured.exact)) {
    error.no_bound = fmt::format("what is on record of {} does not give its bound", captured.call.name);
    return {};
  }
  error.source = row.source;
  if (type.is_16_bits()) {
    error.source += fmt::format("; {}", row.sixteen_bits.source);
    add_roundings(type, row.sixteen_bits.roundings, captured.exact, bound);
  }
  return bound;
}

// Beyond the range of 16 bits, where the number may have been before its last rounding, which the bound has in it.
bool has_overflowed(const StoredType& type, double bound, double made, double exact) {
  return std::isinf(made) && std::isfinite(exact) && std::signbit(made) == std::signbit(exact) &&
         (std::abs(exact) + bound) / (1 + type.roundoff) >= type.overflows_from;
}

void hold_against(const StoredType& type, const Doubles& bound, const Doubles& made, const Doubles& exact,
                  LocalError& error) {
  error.of_bound = 0;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (made[i] == exact[i] || (std::isnan(made[i]) && std::isnan(exact[i]))) continue;
    if (has_overflowed(type, bound[i], made[i], exact[i])) continue;
    double share = std::abs(made[i] - exact[i]) / (bound[i] + kSmallest);
    if (std::isnan(share)) share = std::numeric_limits<double>::infinity();
    if (share <= *error.of_bound) continue;
    error.of_bound = share;
    error.worst = static_cast<std::int64_t>(i);
  }
}

}  // namespace

std::optional<LocalError> local_error(const OperatorRecord& call, std::size_t output,
                                      std::span<const TensorView> tensors, const LocalSettings& settings) {
  CapturedCall captured{call, output, tensors, settings, find_tensor(tensors, fmt::format("output.{}", output)), {}};
  const TensorView* exact = captured.tensor("fp64", output);
  if (captured.made == nullptr || exact == nullptr || exact->dtype != "F64" || exact->shape != captured.made->shape) {
    return std::nullopt;
  }
  captured.exact = doubles_of(*exact);
  const ErrorSums sums =
      error_sums(element_type_of(captured.made->dtype), captured.made->bytes, ElementType::fp64, exact->bytes);
  LocalError error;
  error.error_rel = sums.reference_squares > 0 ? std::sqrt(sums.error_squares / sums.reference_squares) : 0;
  const BoundRow* row = row_of(call.name);
  const StoredType* type = stored_type(captured.made->dtype);
  if (row == nullptr) {
    error.no_bound = fmt::format("no bound is derived for {}", call.name);
  } else if (type == nullptr) {
    error.no_bound = "bounds are derived for fp32, bf16 and fp16";
  } else {
    captured.stored_roundoff = type->roundoff;
    const Doubles bound = bound_of(*row, captured, *type, error);
    if (error.no_bound.empty()) hold_against(*type, bound, doubles_of(*captured.made), captured.exact, error);
  }
  return error;
}

}  // namespace reprobench
