// Which library code computes the steps of real trainings. The tests check relations that hold on any CPU and stack, no
// measured values.
#include "suites/worker/watched_pass.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>

#include "ci/catch.hpp"
#include "models/data_set.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/training_fixture.hpp"
#include "suites/worker/wrapped_model_fixture.hpp"

namespace reprobench {
namespace {

TrainingTrace train_as(const CellRequest& request, Telemetry telemetry) {
  const TemporaryFolder folder;
  CellResult result;
  run_training(request, folder.path(), kTestData, result, telemetry);
  TrainingTrace trace = training_trace_from(folder.path() / "trace.jsonl");
  trace.result = result;
  return trace;
}

CellRequest request_of(const char* model, const char* preset, const KnobValues& knobs = {}) {
  CellRequest request = training_request(model_called(model), 2, TraceLevel::tensor);
  request.workload.preset = preset;
  request.workload.batch_size = 8;
  request.knobs = with_defaults(knobs);
  return request;
}

StepImplementations implementations_of(const CellRequest& request) {
  return train_as(request, Telemetry::on).result.implementations.value();
}

std::int64_t calls_of(const StepImplementations& step, const std::string& word) {
  std::int64_t calls = 0;
  for (const OperationImplementation& row : step.operations) {
    if (row.operation.find(word) != std::string::npos) calls += row.calls;
  }
  return calls;
}

TEST_CASE("every operation of a training that computes has a word or a reason", "[worker][implementations]") {
  struct Workload {
    const char* model;
    const char* preset;
    std::vector<const char*> words;  // of operations that must be there
  };
  const Workload workloads[] = {{"mlp", "base", {"mm", "loss"}},
                                {"resnet", "tiny", {"conv", "norm", "mm"}},
                                {"gpt2", "tiny", {"mm", "norm", "softmax"}}};
  for (const auto& [model, preset, words] : workloads) {
    for (const char* precision : {"fp32", "bf16"}) {
      INFO(model << " " << precision);
      const StepImplementations step = implementations_of(request_of(model, preset, {{"precision", precision}}));
      CHECK(step.unknown.empty());
      CHECK(step.left_out == 0);
      for (const char* word : words) {
        INFO(word);
        CHECK(calls_of(step, word) > 0);
      }
      for (const OperationImplementation& row : step.operations) {
        CAPTURE(row.operation, row.operands, row.dtype, row.implementation, row.unknown);
        CHECK(row.implementation.empty() != row.unknown.empty());
        CHECK_FALSE(row.operands.empty());
        CHECK(row.operation != "no operator");
        // A library's word stands nowhere but where its operator did the work: no view and no allocation has one.
        CHECK(row.operation != "aten::view");
        CHECK(row.operation != "aten::empty");
      }
    }
  }
}

TEST_CASE("two trainings of one workload were computed by the same code", "[worker][implementations]") {
  for (const char* model : {"mlp", "resnet", "gpt2"}) {
    const CellRequest request = request_of(model, model == std::string("mlp") ? "base" : "tiny");
    CHECK((implementations_of(request).operations == implementations_of(request).operations));
  }
}

TEST_CASE("a forward and a backward pass of each product are counted", "[worker][implementations]") {
  // A product each forward, one for each weight and one for each input but the first backward.
  const StepImplementations step = implementations_of(request_of("mlp", "base"));
  const auto layers = static_cast<std::int64_t>(mlp().parameters(mlp().presets().front()).size() / 2);
  CHECK(calls_of(step, "mm") == layers + layers + layers - 1);
}

// Everything but the record itself.
void check_untouched(const CellRequest& request) {
  const TrainingTrace with = train_as(request, Telemetry::on);
  const TrainingTrace without = train_as(request, Telemetry::unwatched);
  CHECK(with.result.implementations);
  CHECK_FALSE(without.result.implementations);
  CHECK(with.result.chain == without.result.chain);
  CHECK(with.result.workload_digest == without.result.workload_digest);
  CHECK(with.result.steps_completed == without.result.steps_completed);
  CHECK(with.result.trace_lines == without.result.trace_lines);
  CHECK(with.result.optimizer_state_bytes == without.result.optimizer_state_bytes);
  CHECK(with.result.model_state_peak_bytes == without.result.model_state_peak_bytes);
  CHECK(with.result.model_state_device_peak_bytes == without.result.model_state_device_peak_bytes);
  CHECK(with.result.model_state_host_peak_bytes == without.result.model_state_host_peak_bytes);
  CHECK(with.result.weight_change_rel == without.result.weight_change_rel);
  CHECK(with.steps.size() == without.steps.size());
  REQUIRE(with.tensors.size() == without.tensors.size());
  for (std::size_t i = 0; i < with.tensors.size(); ++i) {
    CHECK(to_json(with.tensors[i]) == to_json(without.tensors[i]));
  }
}

TEST_CASE("the pass that shows the operations changes no bit and no figure of its training",
          "[worker][implementations]") {
  const KnobValues settings[] = {{},
                                 {{"precision", "bf16"}},
                                 {{"accumulate", "2"}},
                                 {{"replicas", "2"}},
                                 {{"gradient_checkpointing", "on"}},
                                 {{"optimizer_layout", "flat"}},
                                 {{"max_grad_norm", "1"}}};
  for (const KnobValues& knobs : settings) {
    INFO((knobs.empty() ? "defaults" : knobs.begin()->first));
    CellRequest request = request_of("gpt2", "tiny", knobs);
    request.weight_change = true;
    check_untouched(request);
  }
  check_untouched(request_of("resnet", "tiny"));
  check_untouched(request_of("mlp", "base"));
}

TEST_CASE("the first repeat shows the operations for all", "[worker][implementations]") {
  CellRequest request = request_of("mlp", "base");
  request.repeat = 1;
  CHECK_FALSE(train_as(request, Telemetry::on).result.implementations);
}

TEST_CASE("a replay shows no operations, and a training that ends early none either", "[worker][implementations]") {
  CellRequest request = request_of("mlp", "base");
  request.replay.emplace();
  request.replay->first_step = 1;
  request.replay->last_step = 1;
  CHECK_FALSE(train(request).result.implementations);
}

// A model whose passes are watched from outside: what the run holds, and what the last pass was given.
class SpiedModel final : public WrappedModel {
 public:
  explicit SpiedModel(const Model& model, int passes) : WrappedModel(model), passes_(passes) {}

  Outputs forward(const Batch& batch, StepContext& step) const override {
    ++seen_;
    if (seen_ == 1) {
      parameter = step.parameter(0);
      buffer = step.buffer(0);
    }
    if (seen_ > passes_) {
      parameter_before = digest_of(parameter.detach());
      buffer_before = digest_of(buffer);
      if (fails) throw std::runtime_error("no room\nfor a second line");
    }
    return WrappedModel::forward(batch, step);
  }

  int seen() const { return seen_; }
  mutable at::Tensor parameter;
  mutable at::Tensor buffer;
  mutable std::optional<Digest> parameter_before;
  mutable std::optional<Digest> buffer_before;
  bool fails = false;

 private:
  int passes_;
  mutable int seen_ = 0;
};

CellResult train_spied(const SpiedModel& spied, const CellRequest& request) {
  const Model* const all[] = {&spied};
  const TemporaryFolder folder;
  CellResult result;
  run_training(request, folder.path(), kTestData, result, Telemetry::on, &open_device, {all, data_sets()});
  return result;
}

TEST_CASE("one pass is made behind the last step, and running statistics and weights stay as they were",
          "[worker][implementations]") {
  const SpiedModel spied(model_called("resnet"), 2);
  const CellResult result = train_spied(spied, request_of("resnet", "tiny"));
  CHECK(result.implementations.value().unknown.empty());
  CHECK(spied.seen() == 3);
  REQUIRE(spied.buffer_before);
  CHECK(digest_of(spied.parameter.detach()) == *spied.parameter_before);
  CHECK(digest_of(spied.buffer) == *spied.buffer_before);
  CHECK_FALSE(spied.parameter.grad().defined());
}

TEST_CASE("a pass that fails costs the record alone, and says why", "[worker][implementations]") {
  SpiedModel spied(model_called("resnet"), 2);
  spied.fails = true;
  const CellResult result = train_spied(spied, request_of("resnet", "tiny"));
  CHECK_FALSE(result.failure);
  CHECK(result.steps_completed == 2);
  CHECK(result.implementations.value().operations.empty());
  CHECK(result.implementations.value().unknown == "the pass that shows them failed: no room");
}

}  // namespace
}  // namespace reprobench
