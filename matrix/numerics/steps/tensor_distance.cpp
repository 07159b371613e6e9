#include "matrix/numerics/steps/tensor_distance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "matrix/contract/version.hpp"
#include "matrix/numerics/steps/tensor_pairs.hpp"
#include "matrix/stats/error_budget.hpp"

namespace reprobench {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct SketchBounds {
  std::string_view precision;
  double tensor_rel;     // a gradient or activation of one step
  double parameter_rel;  // parameters after one step; grows with the root of the steps
  double noise_rel;      // a gradient this much smaller than its role's RMS may be rounding alone; 0: not measured
};

constexpr SketchBounds kSketchBounds[] = {{"fp64", 1e-12, 1e-15, 1.5e-15},
                                          {"fp32", 1e-5, 2.4e-7, 1e-6},
                                          {"tf32", 2e-3, 2e-3, 0},
                                          {"bf16", 2e-2, 2e-2, 2e-2},
                                          {"fp16", 2e-3, 2e-3, 0}};

const SketchBounds& bounds_of(const std::string& precision) {
  for (const SketchBounds& bounds : kSketchBounds) {
    if (bounds.precision == precision) return bounds;
  }
  throw ContractError("no distance bounds for precision `" + precision + "`");
}

bool is_discrete(TensorRole role) { return role == TensorRole::mask || role == TensorRole::choice; }

double count_of(const TensorRecord& tensor) {
  double count = 1;
  for (const std::int64_t extent : tensor.shape) count *= static_cast<double>(extent);
  return count;
}

bool same_not_finite(const TensorSketch& a, const TensorSketch& b) {
  return a.nan_count == b.nan_count && a.inf_count == b.inf_count;
}

bool is_comparable(const TensorPair& pair) { return pair.is_whole() && pair.measured->sketch && pair.expected->sketch; }

// Root mean square of all elements of each role: what a tensor of zeros is measured by.
std::map<TensorRole, double> rms_by_role(const TensorsRecord& record) {
  std::map<TensorRole, std::pair<double, double>> sums;
  for (const TensorRecord& tensor : record.tensors) {
    if (!tensor.sketch) continue;
    sums[tensor.role].first += tensor.sketch->l2 * tensor.sketch->l2;
    sums[tensor.role].second += count_of(tensor);
  }
  std::map<TensorRole, double> rms;
  for (const auto& [role, sum] : sums) rms[role] = sum.second > 0 ? std::sqrt(sum.first / sum.second) : 0;
  return rms;
}

// A softmax does not see a bias of its keys: the exact gradient of one is zero, both sides hold rounding alone, and two
// such vectors are about as far apart as they are long (noise_floor in matrix/stats/error_budget.hpp has the same for
// the judgement against fp64). Here no side is exact, so both have to be below what rounding left of such biases in
// `clip` and `fusion`, 2.9.0, 2.8.0 and 2.1.0 with and without vector instructions: at most 4.0e-7 of their role in
// fp32, 4.7e-16 in fp64 and 7.1e-3 in bf16. The smallest of all other gradients is 5e-6 of it, so in bf16 some of
// those are left to the distance of the role.
bool may_be_rounding_alone(const TensorRecord& a, const TensorRecord& b, const SketchBounds& bounds, double rms) {
  const double floor = bounds.noise_rel * std::sqrt(count_of(b)) * rms;
  return b.role == TensorRole::parameter_gradient && a.sketch->l2 <= floor && b.sketch->l2 <= floor;
}

// Relative to the expected tensor's length; nothing if both may be rounding alone.
std::optional<double> distance_rel(const TensorRecord& a, const TensorRecord& b, const SketchBounds& bounds,
                                   double rms) {
  if (!same_not_finite(*a.sketch, *b.sketch)) return kInfinite;
  const double distance = relative_l2(distance_squares(*a.sketch, *b.sketch), b.sketch->l2 * b.sketch->l2,
                                      static_cast<std::int64_t>(count_of(b)), rms);
  if (distance != kInfinite && may_be_rounding_alone(a, b, bounds, rms)) return std::nullopt;
  return distance;
}

std::optional<OverBound> over_bound_in(const TensorsRecord& ours, const TensorsRecord& theirs,
                                       const SketchBounds& bounds) {
  const auto rms = rms_by_role(theirs);
  const double updates = static_cast<double>(ours.is_final ? ours.step : ours.step - 1);
  for (const TensorPair& pair : tensor_pairs(ours, theirs)) {
    if (!is_comparable(pair)) continue;
    const TensorRecord& a = *pair.measured;
    const TensorRecord& b = *pair.expected;
    if (is_discrete(a.role) || a.digest == b.digest) continue;
    const double bound =
        a.role == TensorRole::parameter ? bounds.parameter_rel * std::sqrt(std::max(updates, 1.0)) : bounds.tensor_rel;
    const std::optional<double> distance = distance_rel(a, b, bounds, rms.at(b.role));
    if (distance && !(*distance <= bound)) return OverBound{ours.step, a.role, a.name, *distance, bound};
  }
  return std::nullopt;
}

}  // namespace

double distance_squares(const TensorSketch& a, const TensorSketch& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.signed_sums.size(); ++i) {
    squares += (a.signed_sums[i] - b.signed_sums[i]) * (a.signed_sums[i] - b.signed_sums[i]);
  }
  return squares;
}

const TensorsRecord* tensors_of_step(const Trace& trace, std::int64_t step, bool is_final) {
  const TensorsList& records = trace.tensors;
  const auto is_wanted = [&](const TensorsRecord& record) {
    return record.step == step && record.is_final == is_final;
  };
  if (records.empty() || records.back().step < step) return nullptr;
  if (is_wanted(records.back())) return &records.back();
  // Where every step has a record it is known which: a long list is not read from its beginning at each step.
  const std::int64_t place = step - records.front().step;
  if (place >= 0 && place < std::ssize(records)) {
    const TensorsRecord& record = records[static_cast<std::size_t>(place)];
    if (is_wanted(record)) return &record;
  }
  const auto found = std::ranges::lower_bound(records, std::pair(step, is_final), {}, [](const TensorsRecord& record) {
    return std::pair(record.step, record.is_final);
  });
  return found != records.end() && is_wanted(*found) ? &*found : nullptr;
}

std::optional<double> role_distance_rel(const TensorsRecord& measured, const TensorsRecord& expected, TensorRole role) {
  double distance = 0;
  double norm = 0;
  bool found = false;
  for (const TensorPair& pair : tensor_pairs(measured, expected)) {
    if (pair.named().role != role) continue;
    if (!is_comparable(pair)) return std::nullopt;  // a distance of the others would say that this one is near
    const TensorRecord& a = *pair.measured;
    const TensorRecord& b = *pair.expected;
    if (!same_not_finite(*a.sketch, *b.sketch)) return kInfinite;
    found = true;
    norm += b.sketch->l2 * b.sketch->l2;
    distance += distance_squares(*a.sketch, *b.sketch);
  }
  if (!found) return std::nullopt;
  return distance == 0 ? 0 : std::sqrt(distance / norm);
}

std::optional<FarthestTensor> farthest_tensor(const TensorsRecord& measured, const TensorsRecord& expected,
                                              TensorRole role, const std::string& precision) {
  if (!role_distance_rel(measured, expected, role)) return std::nullopt;
  const SketchBounds& bounds = bounds_of(precision);
  const double rms = rms_by_role(expected).at(role);
  FarthestTensor farthest;
  for (const TensorPair& pair : tensor_pairs(measured, expected)) {
    if (pair.named().role != role) continue;
    const double distance = distance_rel(*pair.measured, *pair.expected, bounds, rms).value_or(0);
    if (farthest.name.empty() || distance > farthest.distance_rel) farthest = {pair.named().name, distance};
  }
  return farthest;
}

double tensor_bound_rel(const std::string& precision) { return bounds_of(precision).tensor_rel; }

std::optional<OverBound> first_over_bound(const Trace& measured, const Trace& expected, const std::string& precision) {
  const SketchBounds& bounds = bounds_of(precision);
  for (const TensorsRecord& ours : measured.tensors) {
    const TensorsRecord* theirs = tensors_of_step(expected, ours.step, ours.is_final);
    if (theirs == nullptr) continue;
    if (auto found = over_bound_in(ours, *theirs, bounds)) return found;
  }
  return std::nullopt;
}

}  // namespace reprobench
