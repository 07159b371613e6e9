#include "matrix/verdict/atlas/call_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "matrix/contract/declared_call.hpp"
#include "matrix/numerics/calls/order_judgement.hpp"
#include "matrix/stats/error_budget.hpp"
#include "matrix/verdict/atlas/call_library.hpp"

namespace reprobench {
namespace {

constexpr double kErrorRatio = 4;      // class B1
constexpr double kSameFp64Rel = 1e-9;  // seven orders above fp64's own rounding, two below that of fp32

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return std::max<std::int64_t>(1, count);
}

// Relative distance of two outputs by their sums; infinite where they have other sums, as one that has none.
double distance_rel(const std::vector<double>& ours, const std::vector<double>& theirs, double l2) {
  if (ours.size() != theirs.size() || ours.empty()) return std::numeric_limits<double>::infinity();
  double squares = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) squares += (ours[i] - theirs[i]) * (ours[i] - theirs[i]);
  return relative_distance(squares, l2 * l2, 0);
}

// The error that one rounding makes, and of 16-bit types what sums in them were seen to reach (suites/own-files.md).
double floor_rel(const std::string& dtype, double terms) {
  if (dtype == "bfloat16") return 6e-3;
  if (dtype == "float16") return 1e-3;
  return std::sqrt(terms) * (dtype == "float64" ? 0x1p-53 : 0x1p-24);
}

// How many terms are summed up for one element of this output: of a product (M, K) (K, N) it is the root of
// MK KN / MN, of a reduction what goes in for each that comes out.
double terms_of(const ProbeMeasurement& measurement, const CallOutput& output) {
  double largest = 1;
  double second = 1;
  const auto see = [&](double count) {
    if (count > largest) std::swap(count, largest);
    second = std::max(second, count);
  };
  for (const DeclaredTensor& tensor : parse_call(measurement.labels.at("call")).tensors()) {
    see(static_cast<double>(std::max<std::int64_t>(1, tensor.elements())));
  }
  for (const CallOutput& made : measurement.call->outputs) see(static_cast<double>(elements(made.shape)));
  const auto count = static_cast<double>(elements(output.shape));
  return std::max({1.0, largest / count, std::sqrt(largest * second / count)});
}

// What one differing output says; `worst` so far is replaced by stronger evidence only.
void weigh(const ProbeMeasurement& measured, const CallOutput& ours, const CallOutput& theirs, CallComparison& worst) {
  const auto decide = [&](CallWord word, std::string why) {
    if (word <= worst.word && worst.word != CallWord::unknown) return;
    worst.word = word;
    worst.why = std::move(why);
    worst.error_rel = ours.error_rel;
    worst.expected_error_rel = theirs.error_rel;
  };
  const double apart = distance_rel(ours.sums, theirs.sums, theirs.l2);
  if (std::isfinite(apart)) worst.distance_rel = std::max(worst.distance_rel.value_or(0), apart);
  if (!ours.error_rel || !theirs.error_rel) {
    const std::string& reason = ours.error_rel ? theirs.no_fp64 : ours.no_fp64;
    return decide(CallWord::differs, fmt::format("{} has other bits and no fp64: {}", ours.name, reason));
  }
  const double forms_apart = distance_rel(ours.fp64_sums, theirs.fp64_sums, theirs.l2);
  if (!(forms_apart <= kSameFp64Rel)) {
    return decide(CallWord::another_computation,
                  fmt::format("in fp64 the two sides' {} are {:.1e} apart", ours.name, forms_apart));
  }
  if (ours.not_finite_mismatches != theirs.not_finite_mismatches) {
    return decide(CallWord::defect,
                  fmt::format("{} elements of {} are not finite, or should not be; the reference's {}",
                              ours.not_finite_mismatches, ours.name, theirs.not_finite_mismatches));
  }
  std::optional<OrderJudgement> orders;
  if (ours.order && theirs.order) orders = judge_orders(*ours.order, *theirs.order, ours.name, elements(ours.shape));
  const bool is_proven = orders && orders->word == OrderWord::proven;
  if (is_proven && orders->at_every_element) return decide(CallWord::rounding, orders->sentence);
  worst.proven = worst.proven && is_proven;
  if (orders && orders->word == OrderWord::broken) return decide(CallWord::defect, orders->sentence);
  // Either side may be the worse one.
  const double floor = floor_rel(ours.dtype, terms_of(measured, ours));
  const auto [nearer, farther] = std::minmax(*ours.error_rel, *theirs.error_rel);
  const double bound = std::max(kErrorRatio * nearer, floor);
  const std::string errors =
      fmt::format("{} is {:.1e} from fp64, the reference's {:.1e}", ours.name, *ours.error_rel, *theirs.error_rel);
  if (!(farther <= bound) || !std::isfinite(farther)) {
    const char* whose = *theirs.error_rel > *ours.error_rel ? "the reference is" : "it is";
    return decide(CallWord::defect,
                  fmt::format("{}: {} beyond the {:.1e} that rounding takes it to", errors, whose, bound));
  }
  if (is_proven) return decide(CallWord::rounding, orders->sentence);
  decide(CallWord::rounding, orders ? errors + "; " + orders->sentence : errors);
}

CallComparison with_word(CallWord word, std::string why) { return {word, std::move(why), {}, {}, {}, {}}; }

std::vector<OrderName> orders_of(const CallRecord& call) {
  std::vector<OrderName> orders;
  for (const CallOutput& output : call.outputs) {
    if (!output.order) continue;
    const std::string problem = why_no_order(*output.order);
    orders.push_back({output.name, problem.empty() ? order_name(*output.order) : "", problem});
  }
  return orders;
}

std::optional<CallComparison> not_comparable(const ProbeMeasurement* measured, const ProbeMeasurement* expected) {
  if (measured == nullptr || !measured->call) return with_word(CallWord::unknown, "no record of this call");
  const CallEnd end = measured->call->end;
  if (end == CallEnd::absent) return with_word(CallWord::absent, measured->finding);
  if (end != CallEnd::ran) return with_word(CallWord::not_run, measured->finding);
  if (expected == nullptr || !expected->call) {
    return with_word(CallWord::unknown, "the reference has no record of this call");
  }
  if (expected->call->end == CallEnd::ran) return std::nullopt;
  return with_word(CallWord::unknown, fmt::format("the reference did not run it: {}", expected->finding));
}

}  // namespace

CallComparison compare_calls(const ProbeMeasurement* measured, const ProbeMeasurement* expected) {
  if (auto other = not_comparable(measured, expected)) return *other;
  const CallRecord& ours = *measured->call;
  const CallRecord& theirs = *expected->call;
  if (ours.inputs != theirs.inputs) {
    return with_word(CallWord::another_computation, "its inputs are not the reference's");
  }
  const auto same_form = [](const CallOutput& a, const CallOutput& b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
  };
  if (!std::equal(ours.outputs.begin(), ours.outputs.end(), theirs.outputs.begin(), theirs.outputs.end(), same_form)) {
    return with_word(CallWord::another_computation, "it makes other tensors, or of another type or shape");
  }
  CallComparison comparison;
  if (ours.repeats != theirs.repeats) {
    comparison =
        with_word(CallWord::defect, ours.repeats ? "a second call of the reference gives other bits, here it does not"
                                                 : "a second call gives other bits, the reference's does not");
  }
  for (std::size_t i = 0; i < ours.outputs.size(); ++i) {
    if (ours.outputs[i].digest == theirs.outputs[i].digest) continue;
    if (comparison.differing.empty()) comparison.proven = comparison.word == CallWord::unknown;
    comparison.differing.push_back(ours.outputs[i].name);
    weigh(*measured, ours.outputs[i], theirs.outputs[i], comparison);
  }
  if (comparison.differing.empty() && ours.repeats == theirs.repeats) comparison.word = CallWord::equal;
  comparison.proven = comparison.proven && comparison.word == CallWord::rounding;
  comparison.orders = orders_of(ours);
  if (!comparison.orders.empty()) {
    const CallLibrary library = library_of(*measured);
    comparison.library = library.name;
    comparison.library_unknown = library.unknown;
  }
  return comparison;
}

const ProbeMeasurement* find_call(const std::vector<ProbeMeasurement>& measurements, const std::string& call) {
  const auto found = std::find_if(measurements.begin(), measurements.end(), [&](const ProbeMeasurement& one) {
    const auto label = one.labels.find("call");
    return one.call && label != one.labels.end() && label->second == call;
  });
  return found == measurements.end() ? nullptr : &*found;
}

bool is_broken(CallWord word) { return word == CallWord::defect || word == CallWord::another_computation; }

}  // namespace reprobench
