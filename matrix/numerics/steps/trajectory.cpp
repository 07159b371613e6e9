#include "matrix/numerics/steps/trajectory.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "matrix/base/number.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/numerics/steps/discrete_events.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr double kHorizonDistance = 1e-3;
constexpr double kEnvelopeFactor = 3;
// Beyond the horizon a step more or less of exponential growth is chance. Measured on resnet, the only workload of the
// suites with a horizon: 0.3 to 1.1 times the furthest member after 20 steps, with another instruction set or release.
constexpr double kFactorBeyondHorizon = 10;
constexpr double kUnitRoundoff = 0x1p-24;  // parameters are fp32 in every precision but fp64

void shorten_horizon(Envelope& envelope, std::int64_t last_judged, std::string reason) {
  if (envelope.horizon_step && *envelope.horizon_step <= last_judged) return;
  envelope.horizon_step = last_judged;
  envelope.horizon_reason = std::move(reason);
}

void add_member(Envelope& envelope, const Trace& member, const Trace& base) {
  const auto points = trajectory(member, base);
  for (const TrajectoryPoint& point : points) {
    const auto known = std::find_if(envelope.points.begin(), envelope.points.end(),
                                    [&](const TrajectoryPoint& other) { return other.step == point.step; });
    if (known == envelope.points.end()) {
      envelope.points.push_back(point);
    } else {
      known->distance_rel = std::max(known->distance_rel, point.distance_rel);
    }
  }
  // A flip in step t moves the gradient of step t: the state after t - 1 updates is the last one before it.
  for (const EventFlips& flips : event_flips(member, base)) {
    if (!flips.steers) continue;
    shorten_horizon(envelope, flips.first_step - 1,
                    fmt::format("mask `{}` flips at step {}", flips.event, flips.first_step));
  }
}

bool is_beyond_horizon(const Envelope& envelope, std::int64_t step) {
  return envelope.horizon_step && step > *envelope.horizon_step;
}

std::optional<double> bound_at(const Envelope& envelope, std::int64_t step) {
  const double factor = is_beyond_horizon(envelope, step) ? kFactorBeyondHorizon : kEnvelopeFactor;
  for (const TrajectoryPoint& point : envelope.points) {
    if (point.step != step) continue;
    const double bound = factor * point.distance_rel + 4 * kUnitRoundoff * std::sqrt(static_cast<double>(step));
    if (std::isfinite(bound)) return bound;
  }
  return std::nullopt;
}

// An update of which the two runs have no distance, since one lacks a parameter's sketch; 0: none.
std::int64_t first_gap(const Envelope& envelope, const std::vector<TrajectoryPoint>& points) {
  for (const TrajectoryPoint& known : envelope.points) {
    if (bound_at(envelope, known.step) && std::ranges::find(points, known.step, &TrajectoryPoint::step) == points.end())
      return known.step;
  }
  return 0;
}

std::string sentence_of(const TrajectoryJudgement& judgement, const std::optional<TrajectoryPoint>& outside,
                        std::size_t judged, const std::string& reason) {
  const std::string until = judgement.horizon_step
                                ? fmt::format("up to step {}, where the horizon is: {}; than {} times after it",
                                              *judgement.horizon_step, reason, kFactorBeyondHorizon)
                                : "over the whole run";
  if (outside) {
    return fmt::format("after {} steps the parameters are {:.3g} apart, more than 1-ulp moves of one weight explain",
                       outside->step, outside->distance_rel);
  }
  if (judged == 0) return "no step of both runs carries sketches that the ensemble has, too";
  return fmt::format("no further apart than three times the furthest of {} runs with one weight moved by 1 ulp, {}",
                     judgement.members, until);
}

}  // namespace

std::vector<TrajectoryPoint> trajectory(const Trace& measured, const Trace& expected) {
  std::vector<TrajectoryPoint> points;
  for (const TensorsRecord& ours : measured.tensors) {
    const TensorsRecord* theirs = tensors_of_step(expected, ours.step, ours.is_final);
    const std::int64_t updates = ours.is_final ? ours.step : ours.step - 1;
    if (theirs == nullptr || updates == 0) continue;
    if (const auto distance = role_distance_rel(ours, *theirs, TensorRole::parameter)) {
      points.push_back({updates, *distance});
    }
  }
  return points;
}

Envelope envelope_of(std::span<const Trace* const> members, const Trace& base, const std::string& stack) {
  if (members.empty()) throw ContractError("an envelope needs at least one member");
  Envelope envelope;
  envelope.stack = stack;
  envelope.workload_digest = base.header.workload_digest;
  envelope.members = static_cast<int>(members.size());
  for (const Trace* member : members) add_member(envelope, *member, base);
  std::sort(envelope.points.begin(), envelope.points.end(),
            [](const TrajectoryPoint& a, const TrajectoryPoint& b) { return a.step < b.step; });
  for (const TrajectoryPoint& point : envelope.points) {
    if (point.distance_rel <= kHorizonDistance) continue;
    shorten_horizon(envelope, point.step - 1,
                    fmt::format("a member is {:.2g} away after step {}", point.distance_rel, point.step));
    break;
  }
  return envelope;
}

json to_json(const Envelope& envelope) { return written(envelope); }
Envelope envelope_from_json(const json& object) { return read_document<Envelope>(object); }

TrajectoryJudgement judge_trajectory(const Trace& measured, const Trace& expected, const Envelope& envelope) {
  TrajectoryJudgement judgement;
  judgement.members = envelope.members;
  if (expected.header.workload_digest != envelope.workload_digest ||
      measured.header.workload_digest != envelope.workload_digest) {
    judgement.word = "not_judged";
    judgement.sentence = "the envelope is of another workload";
    return judgement;
  }
  if (forgets_steps(measured) || forgets_steps(expected)) {
    judgement.word = "not_judged";
    judgement.sentence = "a mask may have flipped in a step that is not on record: `trace: tensor` keeps all of them";
    return judgement;
  }
  judgement.horizon_step = envelope.horizon_step;
  std::vector<double> steps;
  std::vector<double> distances;
  std::optional<TrajectoryPoint> outside;
  std::size_t judged = 0;
  const std::vector<TrajectoryPoint> points = trajectory(measured, expected);
  for (const TrajectoryPoint& point : points) {
    const std::optional<double> bound = bound_at(envelope, point.step);
    judgement.points.push_back({point, bound});
    steps.push_back(static_cast<double>(point.step));
    distances.push_back(point.distance_rel);
    if (!bound) continue;
    ++judged;
    if (!outside && !(point.distance_rel <= *bound)) outside = point;
  }
  judgement.growth = growth(steps, distances);
  judgement.word = outside ? "outside" : judged > 0 ? "within" : "not_judged";
  judgement.sentence = sentence_of(judgement, outside, judged, envelope.horizon_reason);
  if (outside && !is_beyond_horizon(envelope, outside->step)) {
    const auto flip = first_mask_flip(event_flips(measured, expected));
    if (flip && outside->step >= *flip) {
      judgement.word = "not_judged";
      judgement.sentence += fmt::format(
          "; a mask flips at step {} between the two runs, before any of the ensemble does,"
          " which may have made it",
          *flip);
    }
  }
  const std::int64_t gap = first_gap(envelope, points);
  if (judgement.word == "within" && gap > 0) {
    judgement.word = "not_judged";
    judgement.sentence = fmt::format("after {} steps one of the runs lacks the sketch of a parameter", gap);
  }
  return judgement;
}

}  // namespace reprobench
