// For tests of this layer: replays answered by a synthetic network in this process, with the files that a worker
// leaves. A test says in what a stack differs, and may spoil a replay's files.
#pragma once

#include <fstream>

#include <fmt/format.h>

#include "matrix/base/safetensors.hpp"
#include "matrix/contract/recent_tensors.hpp"
#include "matrix/contract/state_cadence.hpp"
#include "matrix/inquiry/comparison.hpp"
#include "matrix/inquiry/synthetic_network.hpp"
#include "matrix/record/safetensors.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {

class ScriptedReplays : public Replays {
 public:
  // By stack: in what it differs from the network as it is.
  std::map<std::string, std::vector<Deviation>> stacks;

  // The change that an injection, or a knob off its default, makes to a run. A test that plants faults sets it.
  std::function<std::vector<Deviation>(const CellRequest&)> planted = [](const CellRequest&) {
    return std::vector<Deviation>{};
  };

  // Called with every outcome before it is handed out.
  std::function<void(const ReplayTask&, ReplayOutcome&)> spoil = [](const ReplayTask&, ReplayOutcome&) {};

  std::vector<std::vector<ReplayTask>> calls;  // as they came

  std::vector<ReplayOutcome> run_to_any_end(const std::vector<ReplayTask>& tasks) override {
    calls.push_back(tasks);
    left_.push_back(calls.size());
    std::vector<ReplayOutcome> outcomes;
    for (const ReplayTask& task : tasks) {
      ReplayOutcome outcome;
      outcome.folder = folder_.path / fmt::format("{}-{}", calls.size(), task.purpose);
      std::filesystem::create_directories(outcome.folder);
      train(task.request, outcome);
      spoil(task, outcome);
      outcomes.push_back(std::move(outcome));
    }
    return outcomes;
  }

  void remove_files() override { std::filesystem::remove_all(folder_.path); }
  void remove_latest() override {
    const std::size_t latest = left_.back();
    for (const ReplayTask& task : calls[latest - 1]) {
      std::filesystem::remove_all(folder_.path / fmt::format("{}-{}", latest, task.purpose));
    }
    left_.pop_back();
  }
  std::size_t calls_left() const override { return left_.size(); }

  // A side that trained on `stack` and was recorded.
  ComparedSide side(const std::string& stack, CellRequest request) {
    request.stack = stack;
    auto outcome = run_to_any_end({{"recorded-" + stack, request}}).front();
    calls.pop_back();
    return {stack, request, std::move(outcome.attempt), outcome.folder};
  }

  const std::filesystem::path& folder() const { return folder_.path; }

 private:
  void train(const CellRequest& request, ReplayOutcome& outcome) {
    std::vector<Deviation> deviations = stacks[request.stack];
    for (const Deviation& deviation : planted(request)) deviations.push_back(deviation);
    const Rounding round{setting_in<&Settings::precision>(request.knobs) != Precision::fp64};
    SyntheticNetwork network(round, setting_in<&Settings::seed>(request.knobs), std::move(deviations));
    const Replay replay = request.replay.value_or(Replay{});
    load(replay.from_state, network);

    AttemptRecord& attempt = outcome.attempt;
    attempt.end = AttemptEnd::completed;
    const Digest workload = DigestBuilder()
                                .append(request.workload.model)
                                .append(std::to_string(setting_in<&Settings::seed>(request.knobs)))
                                .append(request.workload.preset)
                                .finish();
    attempt.lead().trace = Trace{};
    attempt.lead().trace->header.workload_digest = to_hex(workload);
    attempt.lead().trace->header.level = request.trace;
    attempt.lead().result = CellResult{};
    attempt.lead().result->workload_digest = to_hex(workload);
    for (const char* knob : {"threads", "accumulate"}) {
      attempt.lead().result->knobs_resolved[knob] = request.knobs.at(knob);
    }
    attempt.lead().result->fingerprint.components = {{"torch", request.stack, request.stack, request.stack}};
    Digest chain = replay.from_state.empty() ? workload : chains_[replay.from_state];
    if (!replay.hold_state) save_if_asked(replay, first_step_of(request) - 1, network, outcome.folder, chain);

    std::ofstream operators(outcome.folder / kOperatorsFile);
    std::int64_t lines = 0;
    const std::int64_t last = last_step_of(request);
    for (std::int64_t step = first_step_of(request); step <= last; ++step) {
      network.given = replay.substituted_inputs && replay.substituted_inputs->step == step
                          ? values_of(*replay.substituted_inputs)
                          : decltype(network.given){};
      network.step(step, !replay.hold_state);
      record_step(request, step, step == last, network, chain, *attempt.lead().trace);
      if (step >= replay.operators_from && step <= replay.operators_to) {
        for (const SyntheticCall& call : network.calls) operators << trace_line(to_json(call.record), lines++);
      }
      if (replay.capture && replay.capture->step == step) {
        capture(network, *replay.capture, outcome.folder / operator_tensors_file(0));
        for (std::size_t i = 0; i < replay.further_captures.size(); ++i) {
          capture(network, replay.further_captures[i], outcome.folder / operator_tensors_file(i + 1));
        }
      }
      if (replay.keep_values && replay.keep_values->step == step) keep(network, *replay.keep_values, outcome.folder);
      if (replay.hold_state) save_gradients(network, step, step == replay.first_step, outcome.folder);
      if (!replay.hold_state) save_if_asked(replay, step, network, outcome.folder, chain);
      attempt.lead().result->steps_completed = step;
      attempt.lead().result->chain = to_hex(chain);
      if (std::isfinite(network.loss)) continue;
      attempt.end = AttemptEnd::worker_error;
      attempt.detail = fmt::format("loss is not finite at step {}", step);
      attempt.lead().result->failure = WorkerFailure{"non_finite_loss", attempt.detail, step};
      return;
    }
  }

  static void load(const std::string& from_state, SyntheticNetwork& network) {
    if (from_state.empty()) return;
    const auto file = SafetensorsFile::open(from_state);
    for (auto& [name, tensor] : network.state()) tensor = loaded(*find_tensor(file.tensors(), name));
  }

  static SyntheticTensor loaded(const TensorView& stored) {
    const ElementType type = stored.dtype == "BF16"  ? ElementType::bf16
                             : stored.dtype == "F32" ? ElementType::fp32
                                                     : ElementType::fp64;
    SyntheticTensor tensor{stored.shape, {}, type == ElementType::bf16};
    for (std::size_t at = 0; at < stored.bytes.size(); at += element_bytes(type)) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, stored.bytes.data() + at, element_bytes(type));
      tensor.values.push_back(element_value(type, bits));
    }
    return tensor;
  }

  // Does what a worker does with substituted inputs, for calls whose values are in the file.
  static std::map<std::int64_t, SyntheticTensor> values_of(const SubstitutedInputs& given) {
    const auto file = SafetensorsFile::open(given.file);
    std::map<std::int64_t, SyntheticTensor> values;
    for (const SubstitutedOutputs& call : given.calls) {
      const TensorView* value = find_tensor(file.tensors(), call.digests.front());
      if (value != nullptr) values.emplace(call.index, loaded(*value));
    }
    return values;
  }

  static void keep(const SyntheticNetwork& network, const KeptValues& asked, const std::filesystem::path& folder) {
    std::map<std::string, const SyntheticTensor*> kept;
    for (const SyntheticCall& call : network.calls) {
      const std::string& digest = call.record.outputs.front().digest;
      if (std::ranges::find(asked.digests, digest) != asked.digests.end()) kept[digest] = &call.output;
    }
    save(folder / kValuesFile, {kept.begin(), kept.end()}, network.rounding());
  }

  // At level `step` the state counts only at the worker's cadence.
  static void record_step(const CellRequest& request, std::int64_t step, bool is_last, const SyntheticNetwork& network,
                          Digest& chain, Trace& trace) {
    const bool has_tensors = digests_tensors(request.trace);
    DigestBuilder root;
    for (const TensorRecord& tensor : network.tensors) {
      const bool is_always = tensor.role == TensorRole::input || tensor.role == TensorRole::loss ||
                             (tensor.role == TensorRole::forward_output && tensor.name == "fc2");
      if (has_tensors || is_always || digests_state(step) || is_last) root.append(tensor.digest);
    }
    StepRecord record;
    record.step = step;
    record.loss = exact_float(network.loss);
    const Digest digest = root.finish();
    record.root = to_hex(digest);
    chain = step_chain_digest(chain, digest, record.loss.at("bits").get_ref<const std::string&>());
    record.chain = to_hex(chain);
    trace.steps.push_back(record);
    if (keeps_tensors(request.trace, step, last_step_of(request))) {
      trace.tensors.push_back({step, false, network.tensors});
    }
    if (!is_last) return;
    TensorsRecord state{step, true, {}};
    SyntheticNetwork& end = const_cast<SyntheticNetwork&>(network);
    for (const std::string& name : end.parameters()) {
      if (has_tensors) state.tensors.push_back(end.record_of(name, TensorRole::parameter, end.state().at(name)));
    }
    trace.tensors.push_back(state);
  }

  using NamedTensors = std::vector<std::pair<std::string, const SyntheticTensor*>>;

  static void save(const std::filesystem::path& path, const NamedTensors& named, Rounding round,
                   const std::map<std::string, SyntheticTensor>& exact = {}, const SafetensorsMetadata& metadata = {}) {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<SafetensorsTensor> tensors;
    bytes.reserve(named.size() + exact.size());
    for (const auto& [name, tensor] : named) {
      bytes.push_back(bytes_of(*tensor, round));
      const char* dtype = tensor->is_bf16 ? "BF16" : round.is_fp32 ? "F32" : "F64";
      tensors.push_back({name, dtype, tensor->shape, bytes.back()});
    }
    for (const auto& [name, tensor] : exact) {
      SyntheticTensor unrounded = tensor;
      unrounded.is_bf16 = false;
      bytes.push_back(bytes_of(unrounded, Rounding{false}));
      tensors.push_back({name, "F64", tensor.shape, bytes.back()});
    }
    write_safetensors(path, std::move(tensors), metadata);
  }

  void save_if_asked(const Replay& replay, std::int64_t steps_done, SyntheticNetwork& network,
                     const std::filesystem::path& folder, const Digest& chain) {
    const auto& wanted = replay.snapshots_after;
    if (std::find(wanted.begin(), wanted.end(), steps_done) == wanted.end()) return;
    NamedTensors named;
    for (const auto& [name, tensor] : network.state()) named.emplace_back(name, &tensor);
    save(folder / snapshot_file(steps_done), named, network.rounding());
    chains_[folder / snapshot_file(steps_done)] = chain;
  }

  static void save_gradients(SyntheticNetwork& network, std::int64_t step, bool is_first,
                             const std::filesystem::path& folder) {
    const auto gradients = network.gradients;
    const auto updates = is_first ? network.drawn_updates() : std::map<std::string, SyntheticTensor>{};
    NamedTensors named;
    for (const auto& [name, tensor] : gradients) named.emplace_back("gradient/" + name, &tensor);
    for (const auto& [name, tensor] : updates) named.emplace_back("update/" + name, &tensor);
    save(folder / gradients_file(step), named, network.rounding());
  }

  // For an input that a call of the subgraph made, the exact result of that call; other inputs stay as they are.
  static SyntheticTensor exact_input(const SyntheticNetwork& network, const OperatorSite& site,
                                     const std::string& digest, const SyntheticTensor& input) {
    for (const std::int64_t before : site.subgraph) {
      const SyntheticCall& call = network.calls.at(static_cast<std::size_t>(before));
      if (call.record.outputs[0].digest == digest) return network.exact_of.at(digest);
    }
    return input;
  }

  static void capture(const SyntheticNetwork& network, const OperatorSite& site, const std::filesystem::path& path) {
    const SyntheticCall& call = network.calls.at(static_cast<std::size_t>(site.index));
    NamedTensors named{{"output.0", &call.output}};
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      named.emplace_back(fmt::format("input.{}", i), &call.inputs[i]);
    std::map<std::string, SyntheticTensor> exact{{"fp64.0", call.exact}};
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      exact[fmt::format("exact_input.{}", i)] =
          exact_input(network, site, call.record.inputs[i].digest, call.inputs[i]);
    }
    const bool is_node = call.record.name.find("Backward") != std::string::npos;
    if (is_node) {
      save(path, named, network.rounding(), {}, {{"fp64", "a backward node cannot be called by itself"}});
    } else {
      save(path, named, network.rounding(), exact, {{"amplification", "1.5"}});
    }
  }

  TemporaryFolder folder_;
  std::vector<std::size_t> left_;                   // numbers of calls whose files are there
  std::map<std::filesystem::path, Digest> chains_;  // after the step whose state is in that file
};

// A training of 6 steps, every tensor digested.
inline CellRequest synthetic_request() {
  CellRequest request;
  request.cell_id = "3f9c1e0a7b52";
  request.suite = "smoke";
  request.workload = {"mlp", "base", 6, 8};
  request.stack = "stack-a";
  request.device = "cpu";
  request.knobs = with_defaults({});
  request.trace = TraceLevel::tensor;
  return request;
}

}  // namespace reprobench
