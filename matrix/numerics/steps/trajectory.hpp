// Class C: is the distance of two trainings no larger than one unit in the last place of one weight makes it?
//
// An ensemble of the expected stack shows how far rounding alone takes the parameters. In each member another weight is
// moved by 1 ulp before the first step. A measured run may be three times as far as the furthest member, plus 4 u
// sqrt(t). That holds up to the horizon: the first step where a member is 1e-3 away or has a mask that flips. After it,
// ten times as far is allowed. The horizon is the ensemble's alone. A mask that flips earlier between the two runs
// excuses no distance, but leaves it undecided.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/description.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/stats/growth.hpp"

namespace reprobench {

// Distance of the parameters after `step` updates, estimated from sketches.
struct TrajectoryPoint {
  std::int64_t step = 0;
  double distance_rel = 0;
};

template <>
struct Description<TrajectoryPoint> {
  static constexpr About about = About::part("point");
  static void fields(auto& field, TrajectoryPoint& point) {
    field("step", point.step, rule::at_least(1));
    field("distance_rel", point.distance_rel);
  }
};

// Every step after which both traces carry sketches of the parameters.
std::vector<TrajectoryPoint> trajectory(const Trace& measured, const Trace& expected);

struct Envelope {
  std::string stack;
  std::string workload_digest;
  int members = 0;
  std::vector<TrajectoryPoint> points;       // of the furthest member
  std::optional<std::int64_t> horizon_step;  // the last step that is judged strictly; nothing: all of them
  std::string horizon_reason;                // "mask `relu_active` flips at step 215"
};

template <>
struct Description<Envelope> {
  static constexpr About about = About::document(
      "envelope", "How far one weight moved by one unit in the last place takes a training on one stack");
  static void fields(auto& field, Envelope& envelope) {
    field("stack", envelope.stack);
    field("workload_digest", envelope.workload_digest);
    field("members", envelope.members, rule::at_least(1));
    field("points", envelope.points);
    field("horizon_step", envelope.horizon_step);
    field("horizon_reason", envelope.horizon_reason);
  }
};

// Made from the ensemble's traces and the trace that they started from. Throws ContractError without members, or if one
// of them is of another workload.
Envelope envelope_of(std::span<const Trace* const> members, const Trace& base, const std::string& stack);

nlohmann::json to_json(const Envelope& envelope);         // document `envelope`
Envelope envelope_from_json(const nlohmann::json& json);  // throws ContractError naming the field

template <>
struct Description<Growth> {
  static constexpr About about = About::part("growth");
  static void fields(auto& field, Growth& growth) {
    field("alpha", growth.alpha);
    field("lambda_per_step", growth.lambda_per_step);
    field("doubling_steps", growth.doubling_steps);
  }
};

struct JudgedPoint : TrajectoryPoint {
  std::optional<double> bound_rel;  // nothing: no member has a distance there
};

template <>
struct Description<JudgedPoint> {
  static constexpr About about = About::part("judged_point");
  static void fields(auto& field, JudgedPoint& point) {
    Description<TrajectoryPoint>::fields(field, point);
    field("bound_rel", point.bound_rel, "null: no member tells.");
  }
};

inline constexpr std::string_view kTrajectoryWords[] = {"within", "outside", "not_judged"};

struct TrajectoryJudgement {
  std::string word;  // kTrajectoryWords
  std::string sentence;
  int members = 0;
  std::optional<std::int64_t> horizon_step;
  std::vector<JudgedPoint> points;
  std::optional<Growth> growth;
};

template <>
struct Description<TrajectoryJudgement> {
  static constexpr About about = About::part("trajectory");
  static void fields(auto& field, TrajectoryJudgement& judgement) {
    field("word", judgement.word, rule::one_of(kTrajectoryWords));
    field("sentence", judgement.sentence);
    field("members", judgement.members, rule::at_least(0));
    field("horizon_step", judgement.horizon_step);
    field("growth", judgement.growth);
    field("points", judgement.points);
  }
};

TrajectoryJudgement judge_trajectory(const Trace& measured, const Trace& expected, const Envelope& envelope);

}  // namespace reprobench
