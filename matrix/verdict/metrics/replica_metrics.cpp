#include "matrix/verdict/metrics/replica_metrics.hpp"

#include <map>

#include <fmt/format.h>

#include "matrix/contract/knob.hpp"
#include "matrix/verdict/metrics/rank_tensors.hpp"

namespace reprobench {
namespace {

// What differs in the records of one process.
struct Stale {
  std::int64_t steps = 0;
  bool final_state = false;
  std::string replica;  // of `first`
  std::optional<CheckDivergence> first;

  double count() const { return static_cast<double>(steps + (final_state ? 1 : 0)); }
  std::string text(std::size_t of_steps) const {
    if (steps == 0) return fmt::format("replica {} ends with other weights than replica 0", replica);
    return fmt::format("replica {} begins {} of {} steps{} with other weights than replica 0", replica, steps, of_steps,
                       final_state ? ", and ends," : "");
  }
};

using ByName = std::map<std::string, const TensorRecord*>;

ByName parameters_of(const TensorsRecord& record) {
  ByName parameters;
  for (const TensorRecord& tensor : record.tensors) {
    if (tensor.role == TensorRole::parameter) parameters.emplace(tensor.name, &tensor);
  }
  return parameters;
}

// Returns what keeps the replicas of that record from being compared, or nothing.
std::string compare(const TensorsRecord& record, std::int64_t replicas, Stale& found) {
  const ByName parameters = parameters_of(record);
  bool differs = false;
  bool has_any = false;
  for (const TensorRecord& own : record.tensors) {  // in the model's order
    if (own.role != TensorRole::parameter || !replica_of(own).empty()) continue;
    has_any = true;
    for (std::int64_t replica = 1; replica < replicas; ++replica) {
      const auto copy = parameters.find(fmt::format("{}@{}", own.name, replica));
      if (copy == parameters.end()) {
        return fmt::format("replica {} recorded no `{}` of {}", replica, own.name, place_of(record));
      }
      const TensorRecord& tensor = *copy->second;
      if (tensor.digest == own.digest) continue;
      differs = true;
      if (found.first) continue;
      found.replica = replica_of(tensor);
      found.first = CheckDivergence{
          Divergence{record.step, tensor.name, std::string(to_string(tensor.role)), tensor.digest, own.digest},
          "replica 0"};
    }
  }
  if (differs) record.is_final ? void(found.final_state = true) : void(++found.steps);
  return has_any ? "" : fmt::format("no parameter was recorded of {}", place_of(record));
}

}  // namespace

Measurement differing_replicas(const CellEvidence& cell, const CellEvidence*) {
  Measurement worst{0.0, std::nullopt, ""};
  for (const AttemptRecord& attempt : cell.repeats) {
    const auto cannot = [&](const std::string& why) {
      return no_value(fmt::format("repeat {}: {}", attempt.repeat, why));
    };
    const std::int64_t replicas = said_of<&Settings::replicas>(attempt.lead().result->knobs_resolved).value_or(1);
    if (replicas == 1) return cannot("needs several replicas, the process had 1");
    if (const std::string why = incomplete(attempt); !why.empty()) return cannot(why);
    const Trace& trace = *attempt.lead().trace;
    Stale found;
    for (const TensorsRecord& record : trace.tensors) {
      if (const std::string why = compare(record, replicas, found); !why.empty()) return cannot(why);
    }
    if (worst.statement.empty()) {
      worst.statement =
          fmt::format("{} replicas hold the same parameters in all {} steps", replicas, trace.steps.size());
    }
    if (found.count() <= *worst.value) continue;
    worst = {found.count(), found.first, ""};
    worst.repeat = attempt.repeat;
    worst.statement = fmt::format("in repeat {} {}", attempt.repeat, found.text(trace.steps.size()));
  }
  return worst;
}

}  // namespace reprobench
