#include "suites/worker/memory_need.hpp"

#include <algorithm>
#include <bit>
#include <fstream>
#include <utility>

#include "matrix/contract/version.hpp"
#include "models/state_bytes.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/weights/own_weights.hpp"

namespace reprobench {
namespace {

// Tensors of a step die in another order than they were made in, so holes remain in a heap that is never given back
// (`allocator=retain`). Measured, ADR 27: after five steps it was 1.4 to 1.8 times what is alive, with LoRA and
// convolutions 2 and more, and 1.2 to 1.5 times where a trace keeps most tensors until the step is over.
constexpr double kHolesOfStepTrace = 0.62;
constexpr double kHolesOfTensorTrace = 0.27;

// The first knob whose chosen value does to memory what nobody has measured.
std::string unknown_knob(const KnobValues& knobs) {
  for (const auto& [name, value] : without_defaults(knobs)) {
    const Knob* knob = find_knob(name);
    if (knob == nullptr || knob->memory == MemoryEffect::unknown) return name + "=" + value;
  }
  return "";
}

AttemptMemory not_predicted(std::string why) {
  AttemptMemory need;
  need.why_not = std::move(why);
  return need;
}

// Sums of gradients that wait for their partner while the last micro-batches are differentiated: of pairs, of pairs of
// pairs, as ranks/gradient_sum.hpp adds them up. Two micro-batches have one, four have two.
std::int64_t waiting_sums(std::int64_t micro_batches) {
  int most = 0;
  for (std::int64_t done = 1; done < micro_batches; ++done) {
    most = std::max(most, std::popcount(static_cast<std::uint64_t>(done)));
  }
  return most;
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

// Blocks computed again and micro-batches are predicted only where every tensor is mapped by itself. With a heap, peaks
// were 1.3 to 2.2 times (blocks) and 1.1 to 1.7 times (micro-batches) what is counted here.
StepShape step_shape(const CellRequest& request, const Settings& settings) {
  return {digests_tensors(request.trace), settings.gradient_checkpointing, settings.accumulate};
}

}  // namespace

AttemptMemory memory_need(const CellRequest& request, std::span<const Model* const> all, std::int64_t process_bytes) {
  const WorkloadRequest& workload = request.workload;
  if (workload.is_probe()) return not_predicted("a probe");
  if (request.device != "cpu") return not_predicted("a GPU");
  if (request.world_size > 1) return not_predicted("several ranks");
  if (const std::string knob = unknown_knob(request.knobs); !knob.empty()) return not_predicted(knob);
  const Settings settings = settings_of(request.knobs);
  if (settings.allocator == Allocator::system) return not_predicted(words_of<&Settings::allocator>(settings));
  const Precision precision = settings.precision;
  if (precision != Precision::fp32 && precision != Precision::fp64) {
    return not_predicted(words_of<&Settings::precision>(settings));
  }

  const auto model = std::ranges::find(all, workload.model, &Model::name);
  if (model == all.end()) return not_predicted("model " + workload.model);
  const auto presets = (*model)->presets();
  const auto preset = std::ranges::find(presets, workload.preset, &ModelPreset::name);
  if (preset == presets.end()) return not_predicted("preset " + workload.preset);
  const StepShape shape = step_shape(request, settings);
  if (workload.batch_size % shape.micro_batches != 0) {
    return not_predicted("a batch of " + std::to_string(workload.batch_size) + " in " +
                         std::to_string(shape.micro_batches) + " micro-batches");
  }
  if (shape.micro_batches > 1 && shape.traces_tensors)
    return not_predicted("micro-batches with every tensor on record");
  const bool has_heap = settings.allocator != Allocator::mapped;
  if (has_heap && shape.computes_blocks_again)
    return not_predicted("gradient_checkpointing=on without allocator=mapped");
  if (has_heap && shape.micro_batches > 1) return not_predicted("accumulate without allocator=mapped");
  const ActivationTape tape = (*model)->activations(*preset, workload.batch_size / shape.micro_batches);
  if (tape.is_empty()) return not_predicted("model " + workload.model + " has no tape");
  if (shape.computes_blocks_again && !tape.has_blocks()) {
    return not_predicted("gradient_checkpointing=on, and " + workload.model + " has no blocks");
  }

  const std::int64_t element_bytes = precision == Precision::fp64 ? 8 : 4;
  const StateBytes state = state_bytes(**model, *preset, element_bytes);
  const LiveElements peak = tape.peak(shape);
  AttemptMemory need;
  need.parameter_bytes = state.parameters;
  need.optimizer_bytes = state.optimizer;
  need.scratch_bytes = settings.optimizer_layout == OptimizerLayout::flat ? 0 : state.scratch;
  need.buffer_bytes = state.buffers;
  need.gradient_bytes = peak.gradients * element_bytes + waiting_sums(shape.micro_batches) * state.gradients;
  need.activation_bytes = peak.activations * element_bytes;
  const double holes = !has_heap ? 0 : shape.traces_tensors ? kHolesOfTensorTrace : kHolesOfStepTrace;
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
