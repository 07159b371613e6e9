#include "suites/worker/train_loop.hpp"

#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <torch/version.h>

#include "ci/catch.hpp"
#include "matrix/contract/available_memory.hpp"
#include "matrix/contract/number.hpp"
#include "matrix/contract/trace.hpp"
#include "models/learning_rate.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/attempt.hpp"
#include "suites/worker/knobs.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/step_recorder.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kData = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "models" / "data";

CellRequest request_for(const Model& model, std::int64_t steps, TraceLevel level) {
  CellRequest request;
  request.cell_id = "cell";
  request.nonce = "0123456789abcdef";
  const ModelPreset& preset = model.presets().front();
  request.workload = {std::string(model.name()), std::string(preset.name), steps, preset.batch_size};
  request.device = "cpu";
  request.knobs = with_defaults({});
  request.trace = level;
  return request;
}

const Model& model_called(std::string_view name) {
  for (const Model* model : models()) {
    if (model->name() == name) return *model;
  }
  throw std::logic_error("there is no such model");
}

const Model& mlp() { return model_called("mlp"); }

// Larger presets are for machines that have the memory and the time.
constexpr std::int64_t kMostTestParameters = 1'000'000;

struct Trace {
  CellResult result;
  std::vector<StepRecord> steps;
  std::vector<TensorsRecord> tensors;  // the last one is the final state
};

Trace read_trace(const std::filesystem::path& path) {
  Trace trace;
  std::ifstream file(path);
  std::string line;
  for (std::int64_t seq = 0; std::getline(file, line); ++seq) {
    const auto body = parse_trace_line(line, seq);
    REQUIRE(body.index() == 0);
    const auto& json = std::get<0>(body);
    if (json.at("kind") == "step") trace.steps.push_back(step_record_from_json(json));
    if (json.at("kind") == "tensors" || json.at("kind") == "final") {
      trace.tensors.push_back(tensors_record_from_json(json));
    }
  }
  return trace;
}

Trace run(const CellRequest& request) {
  const TemporaryFolder folder;
  CellResult result;
  run_training(request, folder.path(), kData, result);
  Trace trace = read_trace(folder.path() / "trace.jsonl");
  trace.result = result;
  return trace;
}

const TensorRecord* find(const TensorsRecord& tensors, TensorRole role, const std::string& name) {
  for (const TensorRecord& tensor : tensors.tensors) {
    if (tensor.role == role && tensor.name == name) return &tensor;
  }
  return nullptr;
}

double loss_of(const StepRecord& step) { return *exact_float_from_json(step.loss); }

TEST_CASE("every small preset of every model trains: the loss falls and each parameter gets a gradient", "[worker]") {
  for (const Model* model : models()) {
    for (const ModelPreset& preset : model->presets()) {
      if (preset.parameters > kMostTestParameters) continue;
      INFO(model->name() << "/" << preset.name);
      CellRequest request = request_for(*model, 30, TraceLevel::tensor);
      request.workload.preset = preset.name;
      request.workload.batch_size = preset.batch_size;
      const Trace trace = run(request);
      REQUIRE(trace.steps.size() == 30);
      CHECK(loss_of(trace.steps.back()) < 0.8 * loss_of(trace.steps.front()));
      std::int64_t elements = 0;
      for (const ParameterSpec& parameter : model->parameters(preset)) {
        // Of step 2: in the first one what comes before a zero matrix, LoRA's A before its B, gets none.
        const TensorRecord* gradient = find(trace.tensors[1], TensorRole::parameter_gradient, parameter.name);
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
    CellRequest request = request_for(mlp(), 12, level);
    const Trace once = run(request);
    CHECK(run(request).result.chain == once.result.chain);
    request.knobs["seed"] = "2";
    const Trace other = run(request);
    CHECK(other.result.chain != once.result.chain);
    CHECK(other.result.workload_digest != once.result.workload_digest);
  }
}

TEST_CASE("a schedule that is asked for is the rate of each step, and part of the work", "[worker][schedule]") {
  CellRequest request = request_for(mlp(), 8, TraceLevel::step);
  const auto& optimizer = mlp().presets().front().optimizer;
  const Trace preset = run(request);
  request.knobs["lr_schedule"] = "constant";
  const Trace constant = run(request);
  CHECK(constant.result.chain == preset.result.chain);  // what this preset has
  request.knobs["lr_schedule"] = "warmup_cosine";
  request.knobs["warmup_steps"] = "3";
  const Trace cosine = run(request);
  CHECK(run(request).result.chain == cosine.result.chain);
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
  run(request);
  request.checkpoint->stop_after = 0;
  request.checkpoint->resume = true;
  CHECK(run(request).result.chain == cosine.result.chain);
  request.knobs["warmup_steps"] = "2";
  request.checkpoint = std::nullopt;
  CHECK(run(request).result.workload_digest != cosine.result.workload_digest);
}

TEST_CASE("a preset with a schedule trains at a constant rate where that is asked for", "[worker][schedule]") {
  CellRequest request = request_for(model_called("llama"), 3, TraceLevel::step);
  const Trace preset = run(request);
  request.knobs["lr_schedule"] = "constant";
  const Trace constant = run(request);
  CHECK(constant.result.workload_digest != preset.result.workload_digest);
  for (const StepRecord& step : constant.steps) CHECK(step.learning_rate == 3e-3);
  CHECK(preset.steps[0].learning_rate == Approx(3e-3 / 5));
}

TEST_CASE("a warm-up without its schedule is refused", "[worker][schedule]") {
  CellRequest request = request_for(mlp(), 3, TraceLevel::step);
  request.knobs["warmup_steps"] = "3";
  for (const char* schedule : {"preset", "constant"}) {
    request.knobs["lr_schedule"] = schedule;
    try {
      run(request);
      FAIL("it ran");
    } catch (const RunFailure& failure) {
      CHECK(failure.cause() == "bad_request");
      CHECK(std::string(failure.what()) ==
            std::string("`warmup_steps: 3` is of `lr_schedule: warmup_cosine`, and that is ") + schedule);
    }
  }
}

TEST_CASE("the workload digest covers batch size, steps and precision, and no knob besides", "[worker]") {
  const CellRequest request = request_for(mlp(), 3, TraceLevel::step);
  const std::string digest = run(request).result.workload_digest;
  const auto digest_with = [&](auto change) {
    CellRequest changed = request;
    change(changed);
    return run(changed).result.workload_digest;
  };
  CHECK(digest_with([](CellRequest& r) { r.workload.batch_size = 16; }) != digest);
  CHECK(digest_with([](CellRequest& r) { r.workload.steps = 4; }) != digest);
  CHECK(digest_with([](CellRequest& r) { r.knobs["precision"] = "fp64"; }) != digest);
  CHECK(digest_with([](CellRequest& r) { r.knobs["onednn"] = "off"; }) == digest);
  CHECK(digest_with([](CellRequest& r) { r.trace = TraceLevel::tensor; }) == digest);
}

TEST_CASE("the workload digest covers a model's own knobs for the models that have them", "[worker]") {
  const auto digest_with = [](const Model& model, const char* gelu) {
    CellRequest request = request_for(model, 1, TraceLevel::step);
    request.knobs["gelu"] = gelu;
    return run(request).result.workload_digest;
  };
  CHECK(digest_with(model_called("gpt2"), "erf") != digest_with(model_called("gpt2"), "tanh"));
  CHECK(digest_with(mlp(), "erf") == digest_with(mlp(), "tanh"));
}

TEST_CASE("a decoder's taps name its modules in the order of the forward pass", "[worker]") {
  const Trace trace = run(request_for(model_called("gpt2"), 1, TraceLevel::tensor));
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
  CellRequest request = request_for(mlp(), 1, TraceLevel::tensor);
  const Trace wide = run(request);
  request.knobs["precision"] = "fp16";
  const Trace narrow = run(request);
  const auto length = [](const Trace& trace) {
    return find(trace.tensors.front(), TensorRole::parameter_gradient, "fc1.weight")->sketch->l2;
  };
  CHECK(length(wide) > 0);
  CHECK(length(narrow) == Approx(length(wide)).epsilon(0.01));
}
#else
const std::map<std::string, std::string> kDtypeOfPrecision = {
    {"fp32", "float32"}, {"bf16", "bfloat16"}, {"fp64", "float64"}};

TEST_CASE("fp16 on a CPU is refused where LibTorch's autocast does not take it", "[worker]") {
  CellRequest request = request_for(mlp(), 1, TraceLevel::step);
  request.knobs["precision"] = "fp16";
  CHECK_THROWS_WITH(run(request), "fp16 on a CPU needs LibTorch 2.4");
}
#endif

TEST_CASE("a decoder computes in the precision asked for", "[worker]") {
  for (const auto& [precision, dtype] : kDtypeOfPrecision) {
    CellRequest request = request_for(model_called("gpt2"), 3, TraceLevel::tensor);
    request.knobs["precision"] = precision;
    const Trace trace = run(request);
    CHECK(find(trace.tensors.front(), TensorRole::forward_output, "h.3.attn.c_attn")->dtype == dtype);
    CHECK(loss_of(trace.steps.back()) < loss_of(trace.steps.front()));
  }
}

TEST_CASE("a weight nudged by one ulp first shows in its own tensor at its own step", "[worker]") {
  CellRequest request = request_for(mlp(), 6, TraceLevel::tensor);
  const Trace clean = run(request);
  request.inject = Injection{"weight_ulp", 4, "fc1.weight", 300};
  const Trace nudged = run(request);
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
  CellRequest request = request_for(mlp(), kStateEvery, TraceLevel::step);
  const Trace clean = run(request);
  request.inject = Injection{"weight_ulp", kStateEvery, "fc2.bias", 9};
  const Trace nudged = run(request);
  CHECK(nudged.steps[kStateEvery - 2].chain == clean.steps[kStateEvery - 2].chain);
  CHECK(nudged.steps[kStateEvery - 1].chain != clean.steps[kStateEvery - 1].chain);
}

TEST_CASE("shares scattered onto a gradient change its bits, and on the CPU the same way every time", "[worker]") {
  CellRequest request = request_for(mlp(), 4, TraceLevel::tensor);
  const Trace clean = run(request);
  request.inject = Injection{"atomic_add", 2, "fc1.weight", 0};
  const Trace scattered = run(request);
  CHECK(scattered.steps[0].chain == clean.steps[0].chain);
  CHECK(scattered.steps[1].chain != clean.steps[1].chain);
  CHECK(loss_of(scattered.steps[3]) == Approx(loss_of(clean.steps[3])).epsilon(1e-4));
  CHECK(run(request).result.chain == scattered.result.chain);
}

TEST_CASE("every attention backend of the CPU trains a decoder to the same losses within rounding", "[worker]") {
  CellRequest request = request_for(model_called("gpt2"), 3, TraceLevel::step);
  const Trace written_out = run(request);
  for (const KnobSupport& support : knob_support()) {
    if (support.name != "attention") continue;
    for (const std::string& backend : support.values) {
      INFO(backend);
      request.knobs["attention"] = backend;
      const Trace fused = run(request);
      CHECK(fused.result.workload_digest == written_out.result.workload_digest);
      CHECK(loss_of(fused.steps[2]) == Approx(loss_of(written_out.steps[2])).epsilon(1e-4));
    }
  }
  apply_knobs(with_defaults({}));
}

TEST_CASE("a fault that names no element of the model is a bad request", "[worker]") {
  CellRequest request = request_for(mlp(), 3, TraceLevel::step);
  const auto refused = [&](Injection injection) {
    request.inject = injection;
    try {
      run(request);
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
    INFO(kind.name);
    CellRequest request = request_for(mlp(), 2, TraceLevel::tensor);
    request.inject = Injection{std::string(kind.name), 2, kind.names_parameter ? "fc2.bias" : "", 1};
    try {
      run(request);
    } catch (const RunFailure& failure) {
      // A training has no operations of a probe to spoil, and this one goes on from no checkpoint; it says so.
      const bool is_misplaced = kind.name == "offload_device_mismatch";
      CHECK(failure.cause() == (kind.of_probe || kind.of_resuming ? "bad_request"
                                : is_misplaced                    ? "device_consistency"
                                                                  : "non_finite_loss"));
    }
  }
}

TEST_CASE("tensor level lists a step's tensors in the order the step meets them", "[worker]") {
  const Trace trace = run(request_for(mlp(), 3, TraceLevel::tensor));
  REQUIRE(trace.tensors.size() == 4);
  const auto& tensors = trace.tensors.front().tensors;
  TensorRole last = TensorRole::input;
  for (const TensorRecord& tensor : tensors) {
    // Masks and choices stand among the outputs, where they are made.
    if (tensor.role == TensorRole::mask || tensor.role == TensorRole::choice) continue;
    CHECK(last <= tensor.role);
    last = tensor.role;
  }
  const TensorRecord* active = find(trace.tensors.front(), TensorRole::mask, "relu_active");
  REQUIRE(active != nullptr);
  REQUIRE(active->sketch);
  CHECK(active->sketch->sum == trace.steps.front().events.at("relu_active").get<double>());
  const TensorRecord* choice = find(trace.tensors.front(), TensorRole::choice, "predicted_class");
  REQUIRE(choice != nullptr);
  CHECK(choice->sketch->sum == 32);
  std::vector<std::string> backward;
  for (const TensorRecord& tensor : tensors) {
    if (tensor.role == TensorRole::grad_output) backward.push_back(tensor.name);
  }
  CHECK(backward == std::vector<std::string>{"fc2", "relu", "fc1"});
  CHECK(trace.steps.front().events.at("relu_active").get<int>() > 0);
  CHECK(find(trace.tensors[1], TensorRole::parameter, "fc1.weight")->digest !=
        find(trace.tensors[0], TensorRole::parameter, "fc1.weight")->digest);
  CHECK(trace.tensors.back().is_final);
  CHECK(trace.tensors.back().tensors.size() == 12);
}

TEST_CASE("sketches and state measurements come on their steps only", "[worker]") {
  const Trace tensor = run(request_for(mlp(), 7, TraceLevel::tensor));
  std::set<std::int64_t> with_sketch;
  for (std::size_t i = 0; i < 7; ++i) {
    if (tensor.tensors[i].tensors.front().sketch) with_sketch.insert(tensor.tensors[i].step);
    CHECK_FALSE(tensor.steps[i].grad_norm.is_null());
  }
  CHECK(with_sketch == std::set<std::int64_t>{1, 2, 5, 7});

  const Trace step = run(request_for(mlp(), 102, TraceLevel::step));
  for (const StepRecord& record : step.steps) {
    const bool measures = record.step == 50 || record.step == 100 || record.step == 102;
    CHECK(record.grad_norm.is_null() != measures);
    CHECK((record.rss_bytes > 0) == measures);
    CHECK((record.anonymous_bytes > 0) == measures);
    CHECK(record.anonymous_bytes <= record.rss_bytes);
  }
}

TEST_CASE("the last parameters do not depend on the trace level", "[worker]") {
  const Trace step = run(request_for(mlp(), 10, TraceLevel::step));
  const Trace tensor = run(request_for(mlp(), 10, TraceLevel::tensor));
  for (const TensorRecord& last : step.tensors.back().tensors) {
    CHECK(find(tensor.tensors.back(), last.role, last.name)->digest == last.digest);
  }
}

TEST_CASE("every precision trains, and each gives other bits", "[worker]") {
  std::set<std::string> chains;
  for (const auto& [precision, dtype] : kDtypeOfPrecision) {
    CellRequest request = request_for(mlp(), 20, TraceLevel::tensor);
    request.knobs["precision"] = precision;
    const Trace trace = run(request);
    CHECK(loss_of(trace.steps.back()) < 0.8 * loss_of(trace.steps.front()));
    CHECK(find(trace.tensors.front(), TensorRole::forward_output, "fc1")->dtype == dtype);
    chains.insert(trace.result.chain);
  }
  CHECK(chains.size() == kDtypeOfPrecision.size());
}

CellResult attempt(const std::filesystem::path& folder, const nlohmann::json& request, bool expected) {
  std::ofstream(folder / "request.json") << request;
  CHECK(run_attempt(folder / "request.json", kData) == expected);
  std::ifstream file(folder / "result.json");
  return result_from_json(nlohmann::json::parse(file));
}

TEST_CASE("whatever is wrong with a request, the result says it and echoes the nonce", "[worker]") {
  const TemporaryFolder folder;
  const nlohmann::json good = to_json(request_for(mlp(), 2, TraceLevel::step));
  const auto cause_with = [&](auto change) {
    nlohmann::json request = good;
    change(request);
    const CellResult result = attempt(folder.path(), request, false);
    CHECK(result.nonce == "0123456789abcdef");
    CHECK(result.steps_completed == 0);
    return result.failure ? result.failure->cause : "none";
  };
  CHECK(cause_with([](auto& r) { r["workload"]["model"] = "gpt9"; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["workload"]["preset"] = "huge"; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["workload"]["batch_size"] = 0; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["workload"]["batch_size"] = 1798; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["workload"]["steps"] = 0; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["version"]["major"] = 9; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["knobs"]["tf32"] = "maybe"; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r.erase("trace"); }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["device"] = "sm_90"; }) == "unsupported");
  CHECK(cause_with([](auto& r) { r["world_size"] = 3; }) == "bad_request");  // 32 samples

  const CellResult done = attempt(folder.path(), good, true);
  CHECK_FALSE(done.failure);
  CHECK(done.steps_completed == 2);
  CHECK(done.trace_lines == 4);
  CHECK(done.start_to_first_step_ns > 0);
  CHECK(done.peak_anonymous_bytes > 0);
  CHECK(done.peak_anonymous_bytes < done.peak_rss_bytes);
}

TEST_CASE("a loss that is not a number is recorded and ends the run", "[worker]") {
  const TemporaryFolder folder;
  CellRequest request = request_for(mlp(), 9, TraceLevel::step);
  request.inject = Injection{"weight_nan", 3, "fc2.bias", 0};
  const CellResult result = attempt(folder.path(), to_json(request), false);
  REQUIRE(result.failure);
  CHECK(result.failure->cause == "non_finite_loss");
  CHECK(result.failure->step == 3);
  CHECK(result.steps_completed == 3);
  const Trace trace = read_trace(folder.path() / "trace.jsonl");
  REQUIRE(trace.steps.size() == 3);
  CHECK(trace.steps.back().loss.at("value") == "nan");
  CHECK(trace.steps.back().chain == result.chain);
  CHECK(result.trace_lines == 4);
}

TEST_CASE("a run that is asked to stop finishes its step and says so", "[worker]") {
  const TemporaryFolder folder;
  request_stop();
  const CellResult result = attempt(folder.path(), to_json(request_for(mlp(), 9, TraceLevel::step)), false);
  REQUIRE(result.failure);
  CHECK(result.failure->cause == "interrupted");
  CHECK(result.steps_completed == 1);
  CHECK(read_trace(folder.path() / "trace.jsonl").steps.size() == 1);
}

TEST_CASE("a request that is not JSON still gets a result", "[worker]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "request.json") << "{\"cell_id\": ";
  CHECK_FALSE(run_attempt(folder.path() / "request.json", kData));
  // It names no cell, so it answers no request: who reads it as a cell's result is told so.
  std::ifstream file(folder.path() / "result.json");
  const auto document = nlohmann::json::parse(file);
  CHECK(document.at("failure").at("cause") == "bad_request");
  CHECK_THROWS_WITH(result_from_json(document), "result: `cell_id` is empty");
}

TEST_CASE("a preset too large for the machine is refused before it starts, with the arithmetic", "[worker]") {
  if (available_memory_bytes() > 321'000'000'000) return;  // it would fit here, and train for hours
  const TemporaryFolder folder;
  CellRequest request = request_for(model_called("llama"), 1, TraceLevel::step);
  request.workload.preset = "3.1-8b";
  request.knobs["precision"] = "fp64";  // 321 GB
  const CellResult result = attempt(folder.path(), to_json(request), false);
  REQUIRE(result.failure);
  CHECK(result.failure->cause == "host_oom");
  CHECK(result.failure->detail.starts_with(
      "llama/3.1-8b keeps parameters 64.2 GB + gradients 64.2 GB + optimizer 128.5 GB + scratch 64.2 GB + buffers 0.0 "
      "GB = 321.2 GB; "));
  CHECK(result.failure->detail.ends_with(" GB are available"));
}

TEST_CASE("missing data ends the run with the file's name", "[worker]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "request.json") << to_json(request_for(mlp(), 2, TraceLevel::step));
  CHECK_FALSE(run_attempt(folder.path() / "request.json", folder.path()));
  std::ifstream file(folder.path() / "result.json");
  CHECK(result_from_json(nlohmann::json::parse(file)).failure->detail.find("digits.bin") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
