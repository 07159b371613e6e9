// Faults that last from their step to the end of the run, which spoil what is learnt and leave every step sound.
#include "ci/catch.hpp"
#include "matrix/contract/number.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

TrainingTrace with_fault(const char* kind, std::int64_t step, std::int64_t steps = 5,
                         TraceLevel level = TraceLevel::tensor) {
  CellRequest request = training_request(mlp(), steps, level);
  if (*kind != '\0') request.inject = Injection{kind, step, "fc1.weight", 3};
  return train(request);
}

// Of a step's record, from 1, the value before its update; steps + 1 is the state after the last.
std::string digest_at(const TrainingTrace& trace, std::size_t step, TensorRole role, const char* name) {
  const TensorRecord* found = find_tensor(trace.tensors.at(step - 1), role, name);
  REQUIRE(found != nullptr);
  return found->digest;
}

std::string weight(const TrainingTrace& trace, std::size_t step, const char* name = "fc1.weight") {
  return digest_at(trace, step, TensorRole::parameter, name);
}

double mean_of_last(const TrainingTrace& trace, std::size_t count) {
  double sum = 0;
  for (auto step = trace.steps.end() - static_cast<std::ptrdiff_t>(count); step != trace.steps.end(); ++step) {
    sum += *exact_float_from_json(step->loss);
  }
  return sum / static_cast<double>(count);
}

TEST_CASE("from the step at which updates stop nothing moves any more", "[worker][fault]") {
  const TrainingTrace trace = with_fault("updates_stop", 3);
  CHECK(weight(trace, 2) != weight(trace, 1));
  CHECK(weight(trace, 3) != weight(trace, 2));
  for (const std::size_t step : {4, 5, 6}) CHECK(weight(trace, step) == weight(trace, 3));
}

TEST_CASE("a skipped update is one, and the next is made", "[worker][fault]") {
  const TrainingTrace trace = with_fault("skip_update", 3);
  CHECK(weight(trace, 4) == weight(trace, 3));
  CHECK(weight(trace, 5) != weight(trace, 4));
}

TEST_CASE("a parameter that is stuck stays as it was, and the others move on", "[worker][fault]") {
  const TrainingTrace trace = with_fault("weight_stuck", 3);
  CHECK(weight(trace, 3) != weight(trace, 2));
  for (const std::size_t step : {4, 5, 6}) CHECK(weight(trace, step) == weight(trace, 3));
  for (const std::size_t step : {4, 5, 6}) CHECK(weight(trace, step, "fc2.weight") != weight(trace, 3, "fc2.weight"));
}

TEST_CASE("a batch that is stuck comes again at every later step", "[worker][fault]") {
  const TrainingTrace trace = with_fault("batch_stuck", 2);
  const auto input = [&](std::size_t step) { return digest_at(trace, step, TensorRole::input, "input"); };
  CHECK(input(1) != input(2));
  for (const std::size_t step : {3, 4, 5}) CHECK(input(step) == input(2));
}

TEST_CASE("shifted targets leave what is looked at and change what is asked for, at every later step",
          "[worker][fault]") {
  const TrainingTrace clean = with_fault("", 0);
  const TrainingTrace shifted = with_fault("targets_shifted", 2);
  for (const std::size_t step : {1, 2, 3, 4, 5}) {
    INFO(step);
    CHECK(digest_at(shifted, step, TensorRole::input, "input") == digest_at(clean, step, TensorRole::input, "input"));
    CHECK((digest_at(shifted, step, TensorRole::input, "target") ==
           digest_at(clean, step, TensorRole::input, "target")) == (step == 1));
  }
}

TEST_CASE("halved updates learn less, and the trace tells the rate that was asked for", "[worker][fault]") {
  const TrainingTrace clean = with_fault("", 0, 30, TraceLevel::step);
  const TrainingTrace halved = with_fault("update_halved", 1, 30, TraceLevel::step);
  CHECK(mean_of_last(halved, 5) > 1.15 * mean_of_last(clean, 5));
  CHECK(halved.steps.back().learning_rate == clean.steps.back().learning_rate);
}

}  // namespace
}  // namespace reprobench
