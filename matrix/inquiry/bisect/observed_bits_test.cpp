#include "matrix/inquiry/bisect/observed_bits.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

const std::string kCall = "relu(f32[4])";

std::string digest(char digit) { return std::string(32, digit); }

AttemptRecord attempt_with(std::vector<CallOutput> outputs, char inputs = '1') {
  ProbeMeasurement measurement;
  measurement.operation = "operator_call";
  measurement.labels = {{"call", kCall}};
  measurement.call = CallRecord{CallEnd::ran, digest(inputs), true, std::move(outputs)};
  AttemptRecord attempt;
  attempt.lead().result.emplace();
  attempt.lead().result->measurements = {measurement};
  return attempt;
}

CallOutput output(const std::string& name, char bits) {
  CallOutput made;
  made.name = name;
  made.dtype = "float32";
  made.shape = {4};
  made.digest = digest(bits);
  return made;
}

ObservedBits bits_with(char first, char second, char inputs = '1') {
  const AttemptRecord attempt = attempt_with({output("output.0", first), output("gradient.0", second)}, inputs);
  return bits_of_call(observation_of(attempt, attempt), kCall);
}

AttemptRecord trained(const std::string& chains) {
  AttemptRecord attempt;
  attempt.lead().result.emplace();
  attempt.lead().result->workload_digest = digest('7');
  attempt.lead().trace.emplace();
  for (const char chain : chains) {
    StepRecord step;
    step.chain = digest(chain);
    attempt.lead().trace->steps.push_back(step);
  }
  return attempt;
}

TEST_CASE("a stack is as the end whose bits it has, in every output", "[bisect]") {
  const ObservedBits good = bits_with('a', 'a');
  const ObservedBits bad = bits_with('b', 'b');
  CHECK(answer_of(good, good, bad).state == PointState::as_good);
  CHECK(answer_of(bad, good, bad).state == PointState::as_bad);
  CHECK(answer_of(good, good, good).state == PointState::as_good);
  CHECK(answer_of(good, good, {}).state == PointState::as_good);
  const PointAnswer half = answer_of(bits_with('a', 'b'), good, bad);
  CHECK(half.state == PointState::another);
  CHECK(half.why == "not as the good end in gradient.0 float32[4]; not as the bad end in output.0 float32[4]");
  const PointAnswer neither = answer_of(bits_with('c', 'c'), good, bad);
  CHECK(neither.state == PointState::another);
  CHECK(neither.identity != half.identity);
  CHECK(neither.identity == answer_of(bits_with('c', 'c'), good, bad).identity);
}

TEST_CASE("an output that is missing or has another type is no equal output", "[bisect]") {
  const ObservedBits good = bits_with('a', 'a');
  const AttemptRecord attempt = attempt_with({output("output.0", 'a')});
  const ObservedBits fewer = bits_of_call(observation_of(attempt, attempt), kCall);
  CHECK(answer_of(fewer, good, bits_with('b', 'b')).state == PointState::another);
  CHECK(differing_parts(fewer, good) == std::vector<std::string>{"gradient.0 float32[4]"});
  CallOutput other = output("output.0", 'a');
  other.dtype = "float64";
  const AttemptRecord typed = attempt_with({other, output("gradient.0", 'a')});
  CHECK(answer_of(bits_of_call(observation_of(typed, typed), kCall), good, good).state == PointState::another);
}

TEST_CASE("bits of other inputs, and bits that are not repeated, say nothing about a stack", "[bisect]") {
  const ObservedBits good = bits_with('a', 'a');
  const PointAnswer other = answer_of(bits_with('a', 'a', '2'), good, good);
  CHECK(other.state == PointState::untestable);
  CHECK_THAT(other.why, Contains("inputs"));

  const AttemptRecord first = attempt_with({output("output.0", 'a')});
  CHECK(bits_of_call(observation_of(first, attempt_with({output("output.0", 'b')})), kCall).why_not ==
        "a second process gives other bits");
  CHECK(bits_of_call(observation_of(first, attempt_with({output("output.0", 'a')}, '2')), kCall).why_not ==
        "a second process gives other bits");
  AttemptRecord empty = first;
  empty.lead().result->measurements.clear();
  CHECK(bits_of_call(observation_of(first, empty), kCall).why_not == "a second process gives other bits");
  CHECK(bits_of_call(observation_of(empty, empty), kCall).why_not == "it left no record of this call");

  AttemptRecord unsteady = first;
  unsteady.lead().result->measurements.front().call->repeats = false;
  CHECK(bits_of_call(observation_of(unsteady, unsteady), kCall).why_not ==
        "a second call in one process gives other bits");
  AttemptRecord absent = first;
  absent.lead().result->measurements.front().call = CallRecord{CallEnd::absent, "", true, {}};
  absent.lead().result->measurements.front().finding = "this release has no such operator";
  const ObservedBits none = bits_of_call(observation_of(absent, absent), kCall);
  CHECK(answer_of(none, good, good).why == "this release has no such operator");
}

TEST_CASE("a training has the bits of all its steps", "[bisect]") {
  const AttemptRecord attempt = trained("abc");
  const ObservedBits good = bits_of_training(observation_of(attempt, attempt));
  CHECK(good.parts.size() == 3);
  const AttemptRecord later = trained("axy");
  const ObservedBits bad = bits_of_training(observation_of(later, later));
  CHECK(answer_of(bad, good, bad).state == PointState::as_bad);
  CHECK(differing_parts(bad, good) == std::vector<std::string>{"step 2", "step 3"});
  CHECK(bits_of_training(observation_of(attempt, later)).why_not == "a second process gives other bits");
  CHECK(bits_of_training(observation_of(trained(""), trained(""))).why_not == "it left no steps");
  const AttemptRecord fewer = trained("ab");
  CHECK(answer_of(bits_of_training(observation_of(fewer, fewer)), good, bad).state == PointState::another);
}

}  // namespace
}  // namespace reprobench
