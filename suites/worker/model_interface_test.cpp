// Features of the model interface, whether shipped models have them or not: several fields of a batch, several outputs,
// buffers, frozen parameters, every optimizer and schedule. The throw-away model of ci/examples has one of each.
#include <cmath>
#include <map>
#include <set>

#include <ATen/core/Tensor.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/trace.hpp"
#include "models/data_set.hpp"
#include "models/learning_rate.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/replay/replay.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"
#include "suites/worker/training_fixture.hpp"
#include "suites/worker/wrapped_model_fixture.hpp"

namespace reprobench {
namespace model::pairs {
const Model& instance();
}
namespace data::pairs {
std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset);
}

namespace {

// `pairs` as it is, or with one thing changed.
class Variant : public WrappedModel {
 public:
  Variant() : WrappedModel(model::pairs::instance()) {}
};

CellRequest pairs_request(const char* preset, std::int64_t steps, TraceLevel level) {
  CellRequest request;
  request.cell_id = "cell";
  request.nonce = "0123456789abcdef";
  request.workload = {"pairs", preset, steps, 12};
  request.device = "cpu";
  request.knobs = with_defaults({});
  request.trace = level;
  return request;
}

TrainingTrace run_pairs(const CellRequest& request, const std::filesystem::path& folder,
                        const Model& model = model::pairs::instance()) {
  const Model* const all[] = {&model};
  const DataSetRow rows[] = {{"pairs", &data::pairs::open}};
  CellResult result;
  run_training(request, folder, "", result, Telemetry::on, &open_device, {all, rows});
  TrainingTrace ran = training_trace_from(folder / "trace.jsonl");
  ran.result = result;
  return ran;
}

TrainingTrace run_pairs(const CellRequest& request, const Model& model = model::pairs::instance()) {
  const TemporaryFolder folder;
  return run_pairs(request, folder.path(), model);
}

// Digests of a record by name.
std::map<std::string, std::string> digests_of(const TensorsRecord& record, TensorRole role) {
  std::map<std::string, std::string> digests;
  for (const TensorRecord& tensor : record.tensors) {
    if (tensor.role == role) digests[tensor.name] = tensor.digest;
  }
  return digests;
}

std::set<std::string> names_of(const TensorsRecord& record, TensorRole role) {
  std::set<std::string> names;
  for (const auto& [name, digest] : digests_of(record, role)) names.insert(name);
  return names;
}

using Names = std::set<std::string>;

TEST_CASE("a model with fields, buffers and frozen parameters learns under every optimizer", "[worker][model]") {
  const auto* preset = GENERATE("adamw", "sgd", "plain");
  INFO(preset);
  const TrainingTrace ran = run_pairs(pairs_request(preset, 40, TraceLevel::step));
  REQUIRE(ran.steps.size() == 40);
  const auto loss = [&](std::size_t step) { return *exact_float_from_json(ran.steps[step].loss); };
  CHECK(loss(39) < 0.8 * loss(0));
}

TEST_CASE("a trace names every field, and shows of a frozen parameter its value and nothing else", "[worker][model]") {
  const TrainingTrace ran = run_pairs(pairs_request("adamw", 3, TraceLevel::tensor));
  const TensorsRecord& first = ran.tensors.front();
  CHECK((names_of(first, TensorRole::input) == Names{"image", "tokens", "weight"}));
  CHECK((names_of(first, TensorRole::parameter) ==
         Names{"image.base.weight", "image.norm.weight", "image.norm.bias", "image.weight", "text.weight", "scale"}));
  CHECK((names_of(first, TensorRole::parameter_gradient) ==
         Names{"image.norm.weight", "image.norm.bias", "image.weight", "text.weight", "scale"}));
  CHECK((names_of(first, TensorRole::optimizer_state).count("image.weight.exp_avg_sq") == 1));
  CHECK((names_of(first, TensorRole::optimizer_state).size() == 10));
  // Its output has no gradient: nothing before it is trained.
  CHECK((names_of(first, TensorRole::forward_output) == Names{"image.base", "image.norm", "image", "text", "logits"}));
  CHECK((names_of(first, TensorRole::grad_output) == Names{"image.norm", "image", "text", "logits"}));
  const auto before = digests_of(first, TensorRole::parameter);
  const auto after = digests_of(ran.tensors.back(), TensorRole::parameter);
  CHECK(after.at("image.base.weight") == before.at("image.base.weight"));
  CHECK(after.at("image.weight") != before.at("image.weight"));
}

TEST_CASE("buffers are in every record of the state, and running statistics run", "[worker][model]") {
  const TrainingTrace ran = run_pairs(pairs_request("sgd", 3, TraceLevel::tensor));
  const Names buffers{"image.norm.running_mean", "image.norm.running_var", "text.positions"};
  for (const TensorsRecord& record : ran.tensors) CHECK((names_of(record, TensorRole::buffer) == buffers));
  const auto first = digests_of(ran.tensors.front(), TensorRole::buffer);
  const auto last = digests_of(ran.tensors.back(), TensorRole::buffer);
  CHECK(first.at("image.norm.running_mean") != last.at("image.norm.running_mean"));
  CHECK(first.at("text.positions") == last.at("text.positions"));
  CHECK((names_of(ran.tensors.back(), TensorRole::optimizer_state).count("image.weight.momentum_buffer") == 1));
}

TEST_CASE("each step trains at the rate of its schedule, and says so", "[worker][model]") {
  const TrainingTrace ran = run_pairs(pairs_request("adamw", 12, TraceLevel::step));
  const ModelPreset& preset = model::pairs::instance().presets().front();
  for (const StepRecord& step : ran.steps) {
    CHECK(step.learning_rate == learning_rate(preset.optimizer, preset.schedule, step.step, 12));
  }
  CHECK(ran.steps[4].learning_rate == 0.05);
  CHECK(ran.steps[11].learning_rate == Approx(0.005));
}

TEST_CASE("a buffer, a frozen parameter and an output each reach the digests of a step", "[worker][model]") {
  const CellRequest request = pairs_request("sgd", 2, TraceLevel::step);
  const TrainingTrace plain = run_pairs(request);
  class SwappedOutputs final : public Variant {
    Outputs forward(const Batch& batch, StepContext& step) const override {
      Outputs outputs = Variant::forward(batch, step);
      std::swap(outputs[0], outputs[1]);
      return outputs;
    }
  } swapped;
  const TrainingTrace other_outputs = run_pairs(request, swapped);
  CHECK(other_outputs.result.workload_digest == plain.result.workload_digest);
  CHECK(other_outputs.steps[0].root != plain.steps[0].root);

  constexpr std::size_t kNothing = 99;
  // The frozen layer's output has gone into the loss by then: only the digest of the state can see these.
  class Overwritten final : public Variant {
   public:
    Overwritten(std::size_t parameter, std::size_t buffer) : parameter_(parameter), buffer_(buffer) {}
    at::Tensor loss(const Outputs& outputs, const Batch& batch) const override {
      if (++passes_ == 2) {
        if (parameter_ != kNothing) step_->parameter(parameter_).variable_data().view({-1})[0] += 1;
        if (buffer_ != kNothing) step_->buffer(buffer_).variable_data().view({-1})[0] += 1;
      }
      return Variant::loss(outputs, batch);
    }
    Outputs forward(const Batch& batch, StepContext& step) const override {
      step_ = &step;
      return Variant::forward(batch, step);
    }

   private:
    std::size_t parameter_;
    std::size_t buffer_;
    mutable int passes_ = 0;
    mutable StepContext* step_ = nullptr;
  };
  const TrainingTrace same = run_pairs(request, Overwritten(kNothing, kNothing));
  CHECK(same.result.chain == plain.result.chain);
  const TrainingTrace frozen = run_pairs(request, Overwritten(0, kNothing));
  const TrainingTrace buffer = run_pairs(request, Overwritten(kNothing, 1));
  for (const TrainingTrace* changed : {&frozen, &buffer}) {
    CHECK(changed->steps[0].root == plain.steps[0].root);
    CHECK(changed->steps[1].root != plain.steps[1].root);
  }
}

TEST_CASE("the workload digest covers buffers, what is frozen, optimizer and schedule", "[worker][model]") {
  const auto digest_of_run = [](const Model& model, const char* preset = "adamw") {
    return run_pairs(pairs_request(preset, 1, TraceLevel::step), model).result.workload_digest;
  };
  class Changed final : public Variant {
   public:
    explicit Changed(const ModelPreset& preset) : preset_(preset) {}
    std::span<const ModelPreset> presets() const override { return {&preset_, 1}; }
    std::vector<ParameterSpec> parameters(const ModelPreset& preset) const override {
      auto list = Variant::parameters(preset);
      if (thaws) list.front().frozen = false;
      return list;
    }
    std::vector<BufferSpec> buffers(const ModelPreset& preset) const override {
      auto list = Variant::buffers(preset);
      if (shifts_buffer) list.front().initial = 0.5F;
      return list;
    }
    bool thaws = false;
    bool shifts_buffer = false;

   private:
    ModelPreset preset_;
  };
  const ModelPreset& adamw = model::pairs::instance().presets().front();
  const std::string plain = digest_of_run(model::pairs::instance());
  CHECK(digest_of_run(Changed(adamw)) == plain);
  std::set<std::string> digests{plain};
  Changed model(adamw);
  model.thaws = true;
  CHECK(digests.insert(digest_of_run(model)).second);
  model = Changed(adamw);
  model.shifts_buffer = true;
  CHECK(digests.insert(digest_of_run(model)).second);

  const auto with = [&](const OptimizerSettings& optimizer, const RateSchedule& schedule) {
    ModelPreset preset = adamw;
    preset.optimizer = optimizer;
    preset.schedule = schedule;
    return digests.insert(digest_of_run(Changed(preset))).second;
  };
  const auto& settings = std::get<AdamWSettings>(adamw.optimizer);
  CHECK(with(settings, ConstantRate{}));
  CHECK(with(settings, WarmupCosine{6, 0.1}));
  CHECK(with(settings, WarmupCosine{5, 0.2}));
  CHECK(with(settings.adam, adamw.schedule));
  CHECK(with(AdamWSettings{settings.adam, 0.02}, adamw.schedule));
  CHECK(with(AdamWSettings{settings.adam, 0.01, &decays_everything}, adamw.schedule));
  CHECK(with(SgdSettings{}, ConstantRate{}));
  CHECK(with(SgdSettings{.momentum = 0.8}, ConstantRate{}));
}

TEST_CASE("a replay goes on from buffers, momentum and rates as they were", "[worker][model][replay]") {
  const auto* preset = GENERATE("adamw", "sgd", "plain");
  INFO(preset);
  const TemporaryFolder folder;
  CellRequest request = pairs_request(preset, 9, TraceLevel::tensor);
  const std::string chain = run_pairs(request, folder.path()).result.chain;
  request.replay = Replay{};
  request.replay->first_step = 1;
  request.replay->last_step = 6;
  request.replay->snapshots_after = {6};
  run_pairs(request, folder.path());
  const auto state = folder.path() / snapshot_file(6);
  CHECK(read_tensors(state).tensors.count("image.norm.running_var") == 1);
  CHECK(read_tensors(state).tensors.count("image.base.weight.exp_avg") == 0);
  request.replay = Replay{};
  request.replay->first_step = 7;
  request.replay->last_step = 9;
  request.replay->from_state = state;
  CHECK(run_pairs(request, folder.path()).result.chain == chain);
}

TEST_CASE("a held state holds its buffers too, and updates nothing that is frozen", "[worker][model][replay]") {
  const TemporaryFolder folder;
  CellRequest request = pairs_request("adamw", 6, TraceLevel::step);
  request.replay = Replay{};
  request.replay->first_step = 1;
  request.replay->last_step = 3;
  request.replay->hold_state = true;
  request.replay->snapshots_after = {0, 3};
  run_pairs(request, folder.path());
  const TensorFile before = read_tensors(folder.path() / snapshot_file(0));
  const TensorFile after = read_tensors(folder.path() / snapshot_file(3));
  for (const auto& [name, tensor] : before.tensors) {
    INFO(name);
    CHECK(tensor.equal(after.tensors.at(name)));
  }
  const TensorFile first = read_tensors(folder.path() / gradients_file(1));
  CHECK(first.tensors.count("update/image.weight") == 1);
  CHECK(first.tensors.count("update/image.base.weight") == 0);
  CHECK(first.tensors.count("gradient/image.base.weight") == 0);
  CHECK(first.tensors.count("update/image.norm.running_mean") == 0);
}

TEST_CASE("faults of the batch act on all its fields", "[worker][model]") {
  CellRequest request = pairs_request("sgd", 4, TraceLevel::tensor);
  const auto clean = digests_of(run_pairs(request).tensors[1], TensorRole::input);
  for (const char* kind : {"stale_batch", "wrong_batch", "sample_repeated", "sample_dropped"}) {
    INFO(kind);
    request.inject = Injection{kind, 2, "", 3};
    const auto planted = digests_of(run_pairs(request).tensors[1], TensorRole::input);
    for (const auto& [field, digest] : clean) {
      INFO(field);
      CHECK(planted.at(field) != digest);
    }
  }
}

TEST_CASE("a fault an optimizer or a frozen parameter cannot have is refused with the reason", "[worker][model]") {
  const auto refusal = [](const char* preset, const Injection& injection) -> std::string {
    CellRequest request = pairs_request(preset, 3, TraceLevel::step);
    request.inject = injection;
    try {
      run_pairs(request);
    } catch (const RunFailure& failure) {
      CHECK(failure.cause() == "bad_request");
      return failure.what();
    }
    return "";
  };
  const std::string frozen = "inject: `image.base.weight` is frozen: it has no gradient and no optimizer state";
  for (const char* kind : {"gradient_ulp", "atomic_add", "moment_ulp"}) {
    CHECK(refusal("adamw", {kind, 2, "image.base.weight", 0}) == frozen);
    CHECK(refusal("adamw", {kind, 2, "image.weight", 0}).empty());
  }
  CHECK(refusal("adamw", {"weight_ulp", 2, "image.base.weight", 0}).empty());
  CHECK(refusal("sgd", {"moment_ulp", 2, "image.weight", 0}).empty());
  CHECK(refusal("plain", {"moment_ulp", 2, "image.weight", 0}) ==
        "inject: the model's optimizer keeps nothing of a parameter");
  CHECK(refusal("adamw", {"adam_epsilon", 2, "", 0}).empty());
  CHECK(refusal("sgd", {"adam_epsilon", 2, "", 0}) == "inject: the model's optimizer has no epsilon");
  CHECK(refusal("plain", {"optimizer_momentum", 2, "", 0}) == "inject: the model's optimizer has no momentum");
  CHECK(refusal("sgd", {"skip_update", 2, "", 0}).empty());
}

TEST_CASE("faults of the optimizer change the run under every optimizer that has what they act on", "[worker][model]") {
  for (const auto& [preset, kinds] : std::map<const char*, std::vector<const char*>>{
           {"adamw", {"moment_ulp", "adam_epsilon", "optimizer_momentum", "skip_update"}},
           {"sgd", {"moment_ulp", "optimizer_momentum", "skip_update"}}}) {
    CellRequest request = pairs_request(preset, 4, TraceLevel::tensor);
    const std::string clean = run_pairs(request).result.chain;
    for (const char* kind : kinds) {
      INFO(preset << " " << kind);
      request.inject = Injection{kind, 2, "image.weight", 3};
      CHECK(run_pairs(request).result.chain != clean);
    }
  }
}

TEST_CASE("a model of every kind trains in fp64 too, its buffers with it", "[worker][model]") {
  CellRequest request = pairs_request("adamw", 3, TraceLevel::tensor);
  request.knobs["precision"] = "fp64";
  const TrainingTrace ran = run_pairs(request);
  for (const TensorRecord& tensor : ran.tensors.back().tensors) CHECK(tensor.dtype == "float64");
  for (const TensorRecord& tensor : ran.tensors.front().tensors) {
    if (tensor.role == TensorRole::input) CHECK(tensor.dtype == (tensor.name == "tokens" ? "int64" : "float64"));
  }
}

}  // namespace
}  // namespace reprobench
