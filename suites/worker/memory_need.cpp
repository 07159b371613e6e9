#include "suites/worker/memory_need.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "matrix/contract/version.hpp"
#include "models/state_bytes.hpp"
#include "suites/worker/own_weights.hpp"
#include "suites/worker/process_facts.hpp"

namespace reprobench {
namespace {

// Knobs whose every value leaves memory as the tape has it; another knob, or another value, is not predicted.
constexpr std::array<std::string_view, 9> kNeutralKnobs = {
    "seed", "threads", "cpu_isa", "mkl_cbwr", "onednn_isa", "flush_denormals", "gelu", "precision", "optimizer_layout"};

// Tensors of a step die in another order than they were made in, so holes remain in a heap that is never given back
// (`allocator=retain`). Measured, ADR 27: after five steps it was 1.4 to 1.8 times what is alive, with LoRA and
// convolutions 2 and more, and 1.2 to 1.5 times where a trace keeps most tensors until the step is over.
constexpr double kHolesOfStepTrace = 0.62;
constexpr double kHolesOfTensorTrace = 0.27;

std::string unknown_knob(const KnobValues& knobs) {
  for (const auto& [name, value] : without_defaults(knobs)) {
    if (name == "allocator" && value == "mapped") continue;  // no holes
    if (std::ranges::find(kNeutralKnobs, name) == kNeutralKnobs.end()) return name + "=" + value;
  }
  return "";
}

AttemptMemory not_predicted(std::string why) {
  AttemptMemory need;
  need.why_not = std::move(why);
  return need;
}

std::vector<std::string> weights_problems_of(const WorkloadRequest& workload) {
  if (workload.weights_sha256.empty()) return {};
  const auto model = std::ranges::find(models(), workload.model, &Model::name);
  if (model == models().end()) return {};
  const auto presets = (*model)->presets();
  const auto preset = std::ranges::find(presets, workload.preset, &ModelPreset::name);
  return preset == presets.end() ? std::vector<std::string>()
                                 : problems_of_weights(workload, **model, *preset, models());
}

}  // namespace

AttemptMemory memory_need(const CellRequest& request, std::span<const Model* const> all, std::int64_t process_bytes) {
  const WorkloadRequest& workload = request.workload;
  if (workload.is_probe()) return not_predicted("a probe");
  if (request.device != "cpu") return not_predicted("a GPU");
  if (request.world_size > 1) return not_predicted("several ranks");
  const KnobValues knobs = with_defaults(request.knobs);
  if (const std::string knob = unknown_knob(knobs); !knob.empty()) return not_predicted(knob);
  const std::string& precision = knobs.at("precision");
  if (precision != "fp32" && precision != "fp64") return not_predicted("precision=" + precision);

  const auto model = std::ranges::find(all, workload.model, &Model::name);
  if (model == all.end()) return not_predicted("model " + workload.model);
  const auto presets = (*model)->presets();
  const auto preset = std::ranges::find(presets, workload.preset, &ModelPreset::name);
  if (preset == presets.end()) return not_predicted("preset " + workload.preset);
  const ActivationTape tape = (*model)->activations(*preset, workload.batch_size);
  if (tape.is_empty()) return not_predicted("model " + workload.model + " has no tape");

  const bool traces_tensors = request.trace == TraceLevel::tensor;
  const std::int64_t element_bytes = precision == "fp64" ? 8 : 4;
  const StateBytes state = state_bytes(**model, *preset, element_bytes);
  const LiveElements peak = tape.peak(traces_tensors);
  AttemptMemory need;
  need.parameter_bytes = state.parameters;
  need.optimizer_bytes = state.optimizer;
  need.scratch_bytes = knobs.at("optimizer_layout") == "flat" ? 0 : state.scratch;
  need.buffer_bytes = state.buffers;
  need.gradient_bytes = peak.gradients * element_bytes;
  need.activation_bytes = peak.activations * element_bytes;
  const bool has_heap = knobs.at("allocator") != "mapped";
  const double holes = !has_heap ? 0 : traces_tensors ? kHolesOfTensorTrace : kHolesOfStepTrace;
  need.hole_bytes = static_cast<std::int64_t>(holes * static_cast<double>(need.activation_bytes));
  need.process_bytes = process_bytes;
  return need;
}

MemoryPredictions predict_memory(const std::filesystem::path& requests) {
  std::ifstream file(requests);
  const nlohmann::json list = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) throw ContractError(requests.string() + " holds no list of requests");
  const std::int64_t process_bytes = resident_memory().anonymous_bytes;
  MemoryPredictions predictions;
  for (const nlohmann::json& json : list) {
    const CellRequest request = request_from_json(json);
    predictions.needs.push_back(memory_need(request, models(), process_bytes));
    predictions.needs.back().weights_problems = weights_problems_of(request.workload);
  }
  return predictions;
}

}  // namespace reprobench
