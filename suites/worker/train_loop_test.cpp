#include "suites/worker/train_loop.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include <torch/version.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/turns.hpp"
#include "models/learning_rate.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/record/step_recorder.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

// Larger presets are for machines that have the memory and the time.
constexpr std::int64_t kMostTestParameters = 1'000'000;

double loss_of(const StepRecord& step) { return *exact_float_from_json(step.loss); }

TEST_CASE("every small preset of every model trains: the loss falls and each parameter gets a gradient", "[worker]") {
  for (const Model* model : models()) {
    for (const ModelPreset& preset : model->presets()) {
      if (preset.parameters > kMostTestParameters) continue;
      INFO(model->name() << "/" << preset.name);
      CellRequest request = training_request(*model, 30, TraceLevel::tensor);
      request.workload.preset = preset.name;
      request.workload.batch_size = preset.batch_size;
      const TrainingTrace trace = train(request);
      REQUIRE(trace.steps.size() == 30);
      CHECK(loss_of(trace.steps.back()) < 0.8 * loss_of(trace.steps.front()));
      std::int64_t elements = 0;
      for (const ParameterSpec& parameter : model->parameters(preset)) {
        // Of step 2: in the first one what comes before a zero matrix, LoRA's A before its B, gets none.
        const TensorRecord* gradient = find_tensor(trace.tensors[1], TensorRole::parameter_gradient, parameter.name);
        REQUIRE((gradient == nullptr) == parameter.frozen);
        if (gradient != nullptr) {
          CHECK(gradient->shape == parameter.shape);
          CHECK(gradient->sketch->l2 > 0);
        }
        elements += std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1},
                                    std::multiplies<std::int64_t>());
      }
      CHECK(elements == preset.parameters);
    }
  }
}

TEST_CASE("the same seed gives the same chain and another seed another", "[worker]") {
  for (const TraceLevel level : {TraceLevel::step, TraceLevel::tensor}) {
    CellRequest request = training_request(mlp(), 12, level);
    const TrainingTrace once = train(request);
    CHECK(train(request).result.chain == once.result.chain);
    request.knobs["seed"] = "2";
    const TrainingTrace other = train(request);
    CHECK(other.result.chain != once.result.chain);
    CHECK(other.result.workload_digest != once.result.workload_digest);
  }
}

TEST_CASE("steps are done in the turns they belong to, and give the same numbers", "[worker][turns]") {
  CellRequest request = training_request(mlp(), 5, TraceLevel::step);
  const TrainingTrace alone = train(request);
  request.turn_steps = 2;
  const TemporaryFolder folder;
  const std::filesystem::path turns = folder.path() / "turns.jsonl";
  std::int64_t lines = 0;
  const auto append = [&](const nlohmann::json& body) {
    std::ofstream(turns, std::ios::app) << trace_line(body, lines++);
  };
  // The steps on record once the worker waits: the file no longer grows.
  const auto steps_done = [&] {
    std::ifstream trace(folder.path() / "trace.jsonl");
    const std::string text(std::istreambuf_iterator<char>(trace), {});
    std::int64_t steps = 0;
    for (std::size_t at = 0; (at = text.find("\"kind\":\"step\"", at)) != std::string::npos; ++at) ++steps;
    return steps;
  };
  std::vector<std::int64_t> done_before;
  std::thread coordinator([&] {
    append(turns_header(request));
    for (std::int64_t block = 0; block < count_of_turns(request); ++block) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);  // a failure, and no hang
      const auto is_waiting = [&] {
        return steps_done() >= 2 * block && std::filesystem::exists(folder.path() / "trace.jsonl");
      };
      while (!is_waiting() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      done_before.push_back(steps_done());
      append(to_json(turn_of(request, block)));
    }
  });
  CellResult result;
  run_training(request, folder.path(), kTestData, result);
  const std::int64_t life_ns = since_process_start_ns();
  coordinator.join();
  const TrainingTrace in_turns = training_trace_from(folder.path() / "trace.jsonl");
  CHECK(done_before == std::vector<std::int64_t>{0, 2, 4});
  std::vector<std::int64_t> blocks;
  for (const StepRecord& step : in_turns.steps) blocks.push_back(step.block.value_or(-1));
  CHECK(blocks == std::vector<std::int64_t>{0, 0, 1, 1, 2});
  CHECK(result.chain == alone.result.chain);
  CHECK_FALSE(alone.steps.front().block);
  REQUIRE(result.turns_wait);
  CHECK(result.turns_wait->time_ns >= 850'000'000);
  CHECK_FALSE(alone.result.turns_wait);
  // It waited for 300 ms before its first step and for 600 ms after it.
  CHECK(result.start_to_first_step_ns < life_ns - 850'000'000);
}

TEST_CASE("a worker that waits for its turn ends when it is asked to stop", "[worker][turns]") {
  CellRequest request = training_request(mlp(), 4, TraceLevel::step);
  request.turn_steps = 2;
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "turns.jsonl")
      << trace_line(turns_header(request), 0) << trace_line(to_json(turn_of(request, 0)), 1);
  std::thread user([&] {
    while (!std::filesystem::exists(folder.path() / "trace.jsonl")) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    request_stop();
  });
  CellResult result;
  CHECK_THROWS_WITH(run_training(request, folder.path(), kTestData, result), "asked to stop before step 3");
  user.join();
  CHECK(result.failure->cause == "interrupted");
  CHECK(take_stop_request());
}

TEST_CASE("a schedule that is asked for is the rate of each step, and part of the work", "[worker][schedule]") {
  CellRequest request = training_request(mlp(), 8, TraceLevel::step);
  const auto& optimizer = mlp().presets().front().optimizer;
  const TrainingTrace preset = train(request);
  request.knobs["lr_schedule"] = "constant";
  const TrainingTrace constant = train(request);
  CHECK(constant.result.chain == preset.result.chain);  // what this preset has
  request.knobs["lr_schedule"] = "warmup_cosine";
  request.knobs["warmup_steps"] = "3";
  const TrainingTrace cosine = train(request);
  CHECK(train(request).result.chain == cosine.result.chain);
  CHECK(cosine.result.workload_digest != constant.result.workload_digest);
  const double base = base_learning_rate(optimizer);
  CHECK(cosine.steps[0].learning_rate == base * 1 / 3);
  CHECK(cosine.steps[2].learning_rate == base);
  CHECK(cosine.steps[7].learning_rate == Approx(0.1 * base));
  for (const StepRecord& step : cosine.steps) {
    CHECK(step.learning_rate == learning_rate(optimizer, WarmupCosine{3, 0.1}, step.step, 8));
  }
  CHECK(cosine.steps[0].loss == constant.steps[0].loss);  // before the first update
  CHECK(cosine.steps[2].loss != constant.steps[2].loss);
  const TemporaryFolder folder;
  request.checkpoint = Checkpointing{folder.path().string()};
  request.checkpoint->stop_after = 4;
  train(request);
  request.checkpoint->stop_after = 0;
  request.checkpoint->resume = true;
  CHECK(train(request).result.chain == cosine.result.chain);
  request.knobs["warmup_steps"] = "2";
  request.checkpoint = std::nullopt;
  CHECK(train(request).result.workload_digest != cosine.result.workload_digest);
}

TEST_CASE("a preset with a schedule trains at a constant rate where that is asked for", "[worker][schedule]") {
  CellRequest request = training_request(model_called("llama"), 3, TraceLevel::step);
  const TrainingTrace preset = train(request);
  request.knobs["lr_schedule"] = "constant";
  const TrainingTrace constant = train(request);
  CHECK(constant.result.workload_digest != preset.result.workload_digest);
  for (const StepRecord& step : constant.steps) CHECK(step.learning_rate == 3e-3);
  CHECK(preset.steps[0].learning_rate == Approx(3e-3 / 5));
}

TEST_CASE("a warm-up without its schedule is refused", "[worker][schedule]") {
  CellRequest request = training_request(mlp(), 3, TraceLevel::step);
  request.knobs["warmup_steps"] = "3";
  for (const char* schedule : {"preset", "constant"}) {
    request.knobs["lr_schedule"] = schedule;
    try {
      train(request);
      FAIL("it ran");
    } catch (const RunFailure& failure) {
      CHECK(failure.cause() == "bad_request");
      CHECK(std::string(failure.what()) == std::string("warmup_steps=3 with lr_schedule=") + schedule +
                                               ": there is a warm-up with `lr_schedule: warmup_cosine` alone");
    }
  }
}

TEST_CASE("the workload digest covers batch size, steps and precision, and no knob besides", "[worker]") {
  const CellRequest request = training_request(mlp(), 3, TraceLevel::step);
  const std::string digest = train(request).result.workload_digest;
  const auto digest_with = [&](auto change) {
    CellRequest changed = request;
    change(changed);
    return train(changed).result.workload_digest;
  };
  CHECK(digest_with([](CellRequest& r) { r.workload.batch_size = 16; }) != digest);
  CHECK(digest_with([](CellRequest& r) { r.workload.steps = 4; }) != digest);
  CHECK(digest_with([](CellRequest& r) { r.knobs["precision"] = "fp64"; }) != digest);
  CHECK(digest_with([](CellRequest& r) { r.knobs["onednn"] = "off"; }) == digest);
  CHECK(digest_with([](CellRequest& r) { r.trace = TraceLevel::tensor; }) == digest);
}

TEST_CASE("the workload digest covers a model's own knobs for the models that have them", "[worker]") {
  const auto digest_with = [](const Model& model, const char* gelu) {
    CellRequest request = training_request(model, 1, TraceLevel::step);
    request.knobs["gelu"] = gelu;
    return train(request).result.workload_digest;
  };
  CHECK(digest_with(model_called("gpt2"), "erf") != digest_with(model_called("gpt2"), "tanh"));
  CHECK(digest_with(mlp(), "erf") == digest_with(mlp(), "tanh"));
}

TEST_CASE("a decoder's taps name its modules in the order of the forward pass", "[worker]") {
  const TrainingTrace trace = train(training_request(model_called("gpt2"), 1, TraceLevel::tensor));
  std::vector<std::string> forward;
  std::set<std::string> backward;
  for (const TensorRecord& tensor : trace.tensors.front().tensors) {
    if (tensor.role == TensorRole::forward_output) forward.push_back(tensor.name);
    if (tensor.role == TensorRole::grad_output) backward.insert(tensor.name);
  }
  REQUIRE(forward.size() == 2 + 4 * 11 + 2);
  CHECK(forward.front() == "wte");
  CHECK(std::vector(forward.begin() + 2, forward.begin() + 14) ==
        std::vector<std::string>{"h.0.ln_1", "h.0.attn.c_attn", "h.0.attn.scores", "h.0.attn.softmax", "h.0.attn.mixed",
                                 "h.0.attn.c_proj", "h.0.ln_2", "h.0.mlp.c_fc", "h.0.mlp.gelu", "h.0.mlp.c_proj", "h.0",
                                 "h.1.ln_1"});
  CHECK(forward.back() == "lm_head");
  CHECK(backward == std::set<std::string>(forward.begin(), forward.end()));
}

// In a worker against an older LibTorch fp16 on a CPU is refused, which a test of its own covers.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
const std::map<std::string, std::string> kDtypeOfPrecision = {
    {"fp32", "float32"}, {"bf16", "bfloat16"}, {"fp16", "float16"}, {"fp64", "float64"}};

TEST_CASE("fp16's gradients are those of the loss, not of the scaled one", "[worker]") {
  CellRequest request = training_request(mlp(), 1, TraceLevel::tensor);
  const TrainingTrace wide = train(request);
  request.knobs["precision"] = "fp16";
  const TrainingTrace narrow = train(request);
  const auto length = [](const TrainingTrace& trace) {
    return find_tensor(trace.tensors.front(), TensorRole::parameter_gradient, "fc1.weight")->sketch->l2;
  };
  CHECK(length(wide) > 0);
  CHECK(length(narrow) == Approx(length(wide)).epsilon(0.01));
}
#else
const std::map<std::string, std::string> kDtypeOfPrecision = {
    {"fp32", "float32"}, {"bf16", "bfloat16"}, {"fp64", "float64"}};

TEST_CASE("fp16 on a CPU is refused where LibTorch's autocast does not take it", "[worker]") {
  CellRequest request = training_request(mlp(), 1, TraceLevel::step);
  request.knobs["precision"] = "fp16";
  CHECK_THROWS_WITH(train(request), "fp16 on a CPU needs LibTorch 2.4");
}
#endif

TEST_CASE("a decoder computes in the precision asked for", "[worker]") {
  for (const auto& [precision, dtype] : kDtypeOfPrecision) {
    CellRequest request = training_request(model_called("gpt2"), 3, TraceLevel::tensor);
    request.knobs["precision"] = precision;
    const TrainingTrace trace = train(request);
    CHECK(find_tensor(trace.tensors.front(), TensorRole::forward_output, "h.3.attn.c_attn")->dtype == dtype);
    CHECK(loss_of(trace.steps.back()) < loss_of(trace.steps.front()));
  }
}

TEST_CASE("a weight nudged by one ulp first shows in its own tensor at its own step", "[worker]") {
  CellRequest request = training_request(mlp(), 6, TraceLevel::tensor);
  const TrainingTrace clean = train(request);
  request.inject = Injection{"weight_ulp", 4, "fc1.weight", 300};
  const TrainingTrace nudged = train(request);
  CHECK(nudged.result.workload_digest == clean.result.workload_digest);
  for (std::size_t i = 0; i < 3; ++i) CHECK(nudged.steps[i].chain == clean.steps[i].chain);
  for (std::size_t i = 3; i < 6; ++i) CHECK(nudged.steps[i].chain != clean.steps[i].chain);
  std::vector<std::string> differing_parameters;
  for (std::size_t i = 0; i < clean.tensors[3].tensors.size(); ++i) {
    const TensorRecord& tensor = clean.tensors[3].tensors[i];
    if (tensor.role == TensorRole::parameter && tensor.digest != nudged.tensors[3].tensors[i].digest) {
      differing_parameters.push_back(tensor.name);
    }
  }
  CHECK(differing_parameters == std::vector<std::string>{"fc1.weight"});
}

TEST_CASE("at level step a nudged weight is seen no later than the next digest of the state", "[worker]") {
  CellRequest request = training_request(mlp(), kStateEvery, TraceLevel::step);
  const TrainingTrace clean = train(request);
  request.inject = Injection{"weight_ulp", kStateEvery, "fc2.bias", 9};
  const TrainingTrace nudged = train(request);
  CHECK(nudged.steps[kStateEvery - 2].chain == clean.steps[kStateEvery - 2].chain);
  CHECK(nudged.steps[kStateEvery - 1].chain != clean.steps[kStateEvery - 1].chain);
}

TEST_CASE("shares scattered onto a gradient change its bits, and on the CPU the same way every time", "[worker]") {
  CellRequest request = training_request(mlp(), 4, TraceLevel::tensor);
  const TrainingTrace clean = train(request);
  request.inject = Injection{"atomic_add", 2, "fc1.weight", 0};
  const TrainingTrace scattered = train(request);
  CHECK(scattered.steps[0].chain == clean.steps[0].chain);
  CHECK(scattered.steps[1].chain != clean.steps[1].chain);
  CHECK(loss_of(scattered.steps[3]) == Approx(loss_of(clean.steps[3])).epsilon(1e-4));
  CHECK(train(request).result.chain == scattered.result.chain);
}

TEST_CASE("every attention backend of the CPU trains a decoder to the same losses within rounding", "[worker]") {
  CellRequest request = training_request(model_called("gpt2"), 3, TraceLevel::step);
  const TrainingTrace written_out = train(request);
  for (const KnobSupport& support : knob_support()) {
    if (support.name != "attention") continue;
    for (const std::string& backend : support.values) {
      INFO(backend);
      request.knobs["attention"] = backend;
      const TrainingTrace fused = train(request);
      CHECK(fused.result.workload_digest == written_out.result.workload_digest);
      CHECK(loss_of(fused.steps[2]) == Approx(loss_of(written_out.steps[2])).epsilon(1e-4));
    }
  }
  apply_knobs(with_defaults({}));
}

TEST_CASE("a fault that names no element of the model is a bad request", "[worker]") {
  CellRequest request = training_request(mlp(), 3, TraceLevel::step);
  const auto refused = [&](Injection injection) {
    request.inject = injection;
    try {
      train(request);
    } catch (const RunFailure& failure) {
      return failure.cause();
    }
    return std::string("none");
  };
  CHECK(refused({"weight_ulp", 1, "fc9.weight", 0}) == "bad_request");
  CHECK(refused({"weight_ulp", 1, "fc2.bias", 10}) == "bad_request");
  CHECK(refused({"weight_ulp", 1, "fc2.bias", -1}) == "bad_request");
  CHECK(refused({"weight_ulp", 4, "fc2.bias", 0}) == "bad_request");
  CHECK(refused({"bit_rot", 1, "fc2.bias", 0}) == "bad_request");
  CHECK(refused({"weight_ulp", 3, "fc2.bias", 9}) == "none");
}

TEST_CASE("every kind of fault a request may name can be planted", "[worker]") {
  for (const InjectionKind& kind : injection_kinds()) {
    if (kind.name == "process_killed" || kind.name == "process_stopped") continue;  // they end or stop this process
    INFO(kind.name);
    // An mlp has neither a GELU nor attention nor a norm.
    const std::string_view in_gpt2[] = {"gelu_constant",   "gelu_written_out", "gelu_bias",     "norm_epsilon",
                                        "attention_scale", "attention_fused",  "cast_inserted", "layer_norm_epsilon",
                                        "gelu_scale",      "softmax_scale"};
    const bool is_in_gpt2 = std::ranges::find(in_gpt2, kind.name) != std::end(in_gpt2);
    const char* const model = is_in_gpt2 ? "gpt2" : kind.name.starts_with("running_") ? "resnet" : "mlp";
    CellRequest request = training_request(model_called(model), 2, TraceLevel::tensor);
    request.inject = Injection{std::string(kind.name), 2, kind.names_parameter ? "fc2.bias" : "", 1};
    const std::string_view of_settings[] = {
        "offload_stale_parameter", "parameters_kept_whole", "bucket_late", "bucket_order",
        "replica_stale",           "replica_gradient_lost"};
    const bool needs_setting = std::ranges::find(of_settings, kind.name) != std::end(of_settings);
    try {
      train(request);
      CHECK_FALSE((kind.of_probe || kind.of_resuming || needs_setting));
    } catch (const RunFailure& failure) {
      // A training has no operations of a probe to spoil, and this one goes on from no checkpoint; it says so.
      const bool is_misplaced = kind.name == "offload_device_mismatch";
      const bool is_refused = kind.of_probe || kind.of_resuming || needs_setting;
      CHECK(failure.cause() == (is_refused ? "bad_request" : is_misplaced ? "device_consistency" : "non_finite_loss"));
    }
  }
}

TEST_CASE("tensor level lists a step's tensors in the order the step meets them", "[worker]") {
  const TrainingTrace trace = train(training_request(mlp(), 3, TraceLevel::tensor));
  REQUIRE(trace.tensors.size() == 4);
  const auto& tensors = trace.tensors.front().tensors;
  TensorRole last = TensorRole::input;
  for (const TensorRecord& tensor : tensors) {
    // Masks and choices stand among the outputs, where they are made.
    if (tensor.role == TensorRole::mask || tensor.role == TensorRole::choice) continue;
    CHECK(last <= tensor.role);
    last = tensor.role;
  }
  const TensorRecord* active = find_tensor(trace.tensors.front(), TensorRole::mask, "relu_active");
  REQUIRE(active != nullptr);
  REQUIRE(active->sketch);
  CHECK(active->sketch->sum == trace.steps.front().events.at("relu_active").get<double>());
  const TensorRecord* choice = find_tensor(trace.tensors.front(), TensorRole::choice, "predicted_class");
  REQUIRE(choice != nullptr);
  CHECK(choice->sketch->sum == 32);
  std::vector<std::string> backward;
  for (const TensorRecord& tensor : tensors) {
    if (tensor.role == TensorRole::grad_output) backward.push_back(tensor.name);
  }
  CHECK(backward == std::vector<std::string>{"fc2", "relu", "fc1"});
  CHECK(trace.steps.front().events.at("relu_active").get<int>() > 0);
  CHECK(find_tensor(trace.tensors[1], TensorRole::parameter, "fc1.weight")->digest !=
        find_tensor(trace.tensors[0], TensorRole::parameter, "fc1.weight")->digest);
  CHECK(trace.tensors.back().is_final);
  CHECK(trace.tensors.back().tensors.size() == 12);
}

TEST_CASE("sketches and state measurements come on their steps only", "[worker]") {
  const TrainingTrace tensor = train(training_request(mlp(), 7, TraceLevel::tensor));
  std::set<std::int64_t> with_sketch;
  for (std::size_t i = 0; i < 7; ++i) {
    if (tensor.tensors[i].tensors.front().sketch) with_sketch.insert(tensor.tensors[i].step);
    CHECK_FALSE(tensor.steps[i].grad_norm.is_null());
  }
  CHECK(with_sketch == std::set<std::int64_t>{1, 2, 5, 7});

  const TrainingTrace step = train(training_request(mlp(), 102, TraceLevel::step));
  for (const StepRecord& record : step.steps) {
    const bool measures = record.step == 50 || record.step == 100 || record.step == 102;
    CHECK(record.grad_norm.is_null() != measures);
    CHECK((record.rss_bytes > 0) == measures);
    CHECK((record.anonymous_bytes > 0) == measures);
    CHECK(record.anonymous_bytes <= record.rss_bytes);
  }
}

TEST_CASE("the last parameters do not depend on the trace level", "[worker]") {
  const TrainingTrace step = train(training_request(mlp(), 10, TraceLevel::step));
  const TrainingTrace tensor = train(training_request(mlp(), 10, TraceLevel::tensor));
  for (const TensorRecord& last : step.tensors.back().tensors) {
    CHECK(find_tensor(tensor.tensors.back(), last.role, last.name)->digest == last.digest);
  }
}

TEST_CASE("every precision trains, and each gives other bits", "[worker]") {
  std::set<std::string> chains;
  for (const auto& [precision, dtype] : kDtypeOfPrecision) {
    CellRequest request = training_request(mlp(), 20, TraceLevel::tensor);
    request.knobs["precision"] = precision;
    const TrainingTrace trace = train(request);
    CHECK(loss_of(trace.steps.back()) < 0.8 * loss_of(trace.steps.front()));
    CHECK(find_tensor(trace.tensors.front(), TensorRole::forward_output, "fc1")->dtype == dtype);
    chains.insert(trace.result.chain);
  }
  CHECK(chains.size() == kDtypeOfPrecision.size());
}

}  // namespace
}  // namespace reprobench
