// Faults that last from their step to the end of the run, which spoil the learning and leave every single step sound.
#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "suites/worker/faults/operator_fault.hpp"
#include "suites/worker/run_failure.hpp"
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

TrainingTrace with_other_calls(const char* model, const char* kind, const char* module, std::int64_t step) {
  CellRequest request = training_request(model_called(model), 2, TraceLevel::tensor);
  request.inject = Injection{kind, step, module, 0};
  return train(request);
}

// The first tap that is another than of a clean run, "1 h.0.ln_1" with its step; empty: none.
std::string first_other_tap(const TrainingTrace& trace, const TrainingTrace& clean) {
  for (std::size_t step = 1; step <= 2; ++step) {
    for (const TensorRecord& tensor : trace.tensors.at(step - 1).tensors) {
      if (tensor.role != TensorRole::forward_output) continue;
      if (tensor.digest == digest_at(clean, step, tensor.role, tensor.name.c_str())) continue;
      return std::to_string(step) + " " + tensor.name;
    }
  }
  return "";
}

TEST_CASE("a model makes other calls in the module named, or in all that have it, from the step on",
          "[worker][fault]") {
  const TrainingTrace clean = train(training_request(model_called("gpt2"), 2, TraceLevel::tensor));
  const auto first = [&](const char* kind, const char* module, std::int64_t step) {
    return first_other_tap(with_other_calls("gpt2", kind, module, step), clean);
  };
  CHECK(first("gelu_constant", "h.2.mlp.gelu", 1) == "1 h.2.mlp.gelu");
  CHECK(first("gelu_constant", "", 2) == "2 h.0.mlp.gelu");
  CHECK(first("gelu_written_out", "h.1.mlp.gelu", 2) == "2 h.1.mlp.gelu");
  CHECK(first("attention_scale", "h.3.attn.scores", 1) == "1 h.3.attn.scores");
  CHECK(first("cast_inserted", "h.1.ln_2", 1) == "1 h.1.ln_2");
  CHECK(first("gelu_bias", "h.2.mlp.gelu", 2) == "2 h.2.mlp.gelu");
  CHECK(first("norm_epsilon", "h.2.ln_1", 1) == "1 h.2.ln_1");
  CHECK(first("attention_fused", "h.1.attn.mixed", 1) == "1 h.1.attn.mixed");
}

TEST_CASE("an update is written otherwise for the parameter named, from the step on, and by operators alone",
          "[worker][fault]") {
  CellRequest request = training_request(mlp(), 3, TraceLevel::tensor);
  const TrainingTrace clean = train(request);
  const char* const kind = GENERATE("adam_written_out", "adam_epsilon_unscaled");
  request.inject = Injection{kind, 2, "fc1.weight", 0};
  const TrainingTrace planted = train(request);
  const auto is_as_clean = [&](std::size_t step, const char* name) {
    return digest_at(planted, step, TensorRole::parameter, name) == digest_at(clean, step, TensorRole::parameter, name);
  };
  CHECK(is_as_clean(2, "fc1.weight"));
  CHECK_FALSE(is_as_clean(3, "fc1.weight"));
  CHECK(is_as_clean(3, "fc2.weight"));
  request.knobs["optimizer_layout"] = "flat";
  CHECK_THROWS_WITH(train(request),
                    "inject: only an update by operators, tensor by tensor where the training runs, can be written "
                    "otherwise");
}

TEST_CASE("a drill that has nothing to change is refused from its step on", "[worker][fault]") {
  CHECK_THROWS_WITH(with_other_calls("mlp", "gelu_constant", "", 1),
                    "inject: as it is asked for, the model has no module that `gelu_constant` changes");
  CHECK_THROWS_WITH(with_other_calls("gpt2", "cast_inserted", "h.9.ln_1", 2),
                    "inject: `h.9.ln_1` is no module of the model that `cast_inserted` changes");
  CHECK_THROWS_AS(with_other_calls("gpt2", "gelu_constant", "h.0.ln_1", 1), RunFailure);
  const char* const of_operators = GENERATE("layer_norm_epsilon", "gelu_scale", "softmax_scale", "running_momentum");
  CHECK_THROWS_WITH(
      with_other_calls("mlp", of_operators, "", 2),
      "inject: as it is asked for, the training calls no operator that `" + std::string(of_operators) + "` changes");
}

TEST_CASE("a call changed in one step alone counts as changed where training resumes behind that step",
          "[worker][fault]") {
  const auto is_met_from = [](const char* kind, std::int64_t first_step) {
    const auto fault = OperatorFault::create(Injection{kind, 5, "", 0});
    for (std::int64_t step = first_step; step < first_step + 10; ++step) fault->begin_step(step);
    return fault->is_met();
  };
  CHECK(is_met_from("reduction_order", 6));
  CHECK_FALSE(is_met_from("reduction_order", 5));
  CHECK_FALSE(is_met_from("reduction_order", 1));
  CHECK_FALSE(is_met_from("tf32", 6));
}

}  // namespace
}  // namespace reprobench
