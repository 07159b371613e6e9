#include "matrix/inquiry/bisect/observed_bits.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/verdict/atlas/call_comparison.hpp"

namespace reprobench {
namespace {

constexpr const char* kTraining = "the training";

TrainingBits training_bits(const AttemptRecord& attempt) {
  TrainingBits bits{attempt.lead().result->workload_digest, {}};
  for (const StepRecord& step : attempt.lead().trace->steps) bits.chains.push_back(step.chain);
  return bits;
}

bool have_equal_bits(const ProbeMeasurement& a, const ProbeMeasurement* b) {
  if (b == nullptr || !a.call || !b->call) return false;
  const auto alike = [](const CallOutput& x, const CallOutput& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape && x.digest == y.digest;
  };
  return a.call->end == b->call->end && a.call->inputs == b->call->inputs &&
         std::ranges::equal(a.call->outputs, b->call->outputs, alike);
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

ObservedBits without_bits(std::string why) {
  ObservedBits bits;
  bits.why_not = std::move(why);
  return bits;
}

}  // namespace

StackObservation observation_of(const AttemptRecord& first, const AttemptRecord& second) {
  StackObservation observation;
  const CellResult& result = *first.lead().result;
  observation.fingerprint = result.fingerprint;
  observation.calls = result.measurements;
  for (const ProbeMeasurement& call : observation.calls) {
    const auto text = call.labels.find("call");
    if (text == call.labels.end()) continue;
    if (!have_equal_bits(call, find_call(second.lead().result->measurements, text->second))) {
      observation.unrepeated.push_back(text->second);
    }
  }
  if (first.lead().trace && !first.lead().trace->steps.empty()) {
    observation.training = training_bits(first);
    const TrainingBits again = training_bits(second);
    if (again.chains != observation.training->chains ||
        again.workload_digest != observation.training->workload_digest) {
      observation.unrepeated.emplace_back(kTraining);
    }
  }
  return observation;
}

ObservedBits bits_of_call(const StackObservation& observation, const std::string& call) {
  const ProbeMeasurement* measured = find_call(observation.calls, call);
  if (measured == nullptr) return without_bits("it left no record of this call");
  if (measured->call->end != CallEnd::ran) return without_bits(measured->finding);
  if (!measured->call->repeats) return without_bits("a second call in one process gives other bits");
  if (is_among(observation.unrepeated, call)) return without_bits("a second process gives other bits");
  ObservedBits bits;
  bits.inputs = measured->call->inputs;
  for (const CallOutput& output : measured->call->outputs) {
    bits.parts.push_back(
        {fmt::format("{} {}[{}]", output.name, output.dtype, fmt::join(output.shape, ", ")), output.digest});
  }
  return bits;
}

ObservedBits bits_of_training(const StackObservation& observation) {
  if (!observation.training) return without_bits("it left no steps");
  if (!observation.unrepeated.empty()) return without_bits("a second process gives other bits");
  ObservedBits bits;
  bits.inputs = observation.training->workload_digest;
  for (std::size_t i = 0; i < observation.training->chains.size(); ++i) {
    bits.parts.push_back({fmt::format("step {}", i + 1), observation.training->chains[i]});
  }
  return bits;
}

std::vector<std::string> differing_parts(const ObservedBits& a, const ObservedBits& b) {
  std::vector<std::string> names;
  const auto take = [&](const ObservedBits& from, const ObservedBits& other) {
    for (const NamedDigest& part : from.parts) {
      if (std::ranges::find(other.parts, part) == other.parts.end() && !is_among(names, part.name)) {
        names.push_back(part.name);
      }
    }
  };
  take(a, b);
  take(b, a);
  return names;
}

PointAnswer answer_of(const ObservedBits& here, const ObservedBits& good, const ObservedBits& bad) {
  if (!here.why_not.empty()) return {PointState::untestable, here.why_not, ""};
  if (here.inputs != good.inputs) return {PointState::untestable, "its inputs are not those of the good end", ""};
  if (here.parts == good.parts) return {PointState::as_good, "", ""};
  if (here.parts == bad.parts) return {PointState::as_bad, "", ""};
  PointAnswer answer{PointState::another, "", ""};
  for (const NamedDigest& part : here.parts) answer.identity += fmt::format("{}={};", part.name, part.digest);
  answer.why = fmt::format("not as the good end in {}; not as the bad end in {}",
                           fmt::join(differing_parts(here, good), ", "), fmt::join(differing_parts(here, bad), ", "));
  return answer;
}

}  // namespace reprobench
