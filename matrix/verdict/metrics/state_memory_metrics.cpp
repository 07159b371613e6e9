#include "matrix/verdict/metrics/state_memory_metrics.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "matrix/base/safetensors.hpp"
#include "matrix/contract/knob.hpp"

namespace reprobench {
namespace {

// How many elements of a tensor are cut off together (suites/worker/ranks/partition.hpp).
constexpr std::int64_t kBlockElements = 256;

// What a whole model has, in bytes.
struct ModelBytes {
  std::int64_t parameters = 0;
  std::int64_t trained = 0;  // of the parameters
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t largest_module = 0;  // its parameters and gradients
  std::int64_t element = 0;         // of a parameter
  std::string missing;              // sentence; empty: all is known

  std::int64_t all() const { return parameters + gradients + optimizer; }
};

// What the settings of a cell declare.
struct DeclaredLayout {
  int zero_stage = 0;
  Offload offload = Offload::none;
  bool adds_up = false;  // micro-batches of its own
  std::int64_t ranks = 1;
  std::int64_t replicas = 1;
};

std::int64_t tensor_bytes(const TensorRecord& tensor, const SafetensorsDtype& type) {
  auto bytes = static_cast<std::int64_t>(type.bytes);
  for (const std::int64_t extent : tensor.shape) bytes *= extent;
  return bytes;
}

// "h.0.attn" of "h.0.attn.weight"
std::string module_named(const std::string& parameter) { return parameter.substr(0, parameter.rfind('.')); }

ModelBytes model_bytes(const CellEvidence& alone) {
  const auto& records = alone.repeats.front().lead().trace->tensors;
  ModelBytes found;
  if (records.empty() || records.front().is_final) {
    found.missing = fmt::format("{} has no record of its tensors", alone.slug);
    return found;
  }
  std::map<std::string, std::int64_t> by_parameter;
  std::map<std::string, std::int64_t> by_module;
  for (const TensorRecord& tensor : records.front().tensors) {
    const SafetensorsDtype* type = safetensors_dtype_of_torch(tensor.dtype);
    if (type == nullptr) {
      found.missing = fmt::format("{} recorded `{}` of the unknown type `{}`", alone.slug, tensor.name, tensor.dtype);
      return found;
    }
    const std::int64_t bytes = tensor_bytes(tensor, *type);
    if (tensor.role == TensorRole::parameter) {
      by_parameter[tensor.name] = bytes;
      by_module[module_named(tensor.name)] += bytes;
      found.parameters += bytes;
      found.element = static_cast<std::int64_t>(type->bytes);
    }
    if (tensor.role == TensorRole::parameter_gradient && by_parameter.contains(tensor.name)) {  // none of a micro-batch
      by_module[module_named(tensor.name)] += bytes;
      found.gradients += bytes;
      found.trained += by_parameter.at(tensor.name);
    }
    if (tensor.role == TensorRole::optimizer_state) found.optimizer += bytes;
  }
  for (const auto& [module, bytes] : by_module) found.largest_module = std::max(found.largest_module, bytes);
  if (found.trained == 0 || found.optimizer == 0) {
    found.missing = fmt::format("{} recorded no gradient or no optimizer state", alone.slug);
  }
  return found;
}

DeclaredLayout declared_layout(const AttemptRecord& attempt) {
  const KnobValues& knobs = attempt.lead().result->knobs_resolved;
  DeclaredLayout layout;
  layout.offload = said_of<&Settings::offload>(knobs).value_or(Offload::none);
  layout.adds_up = said_of<&Settings::accumulate>(knobs).value_or(1) > 1;
  layout.replicas = said_of<&Settings::replicas>(knobs).value_or(1);
  layout.ranks = static_cast<std::int64_t>(attempt.ranks.size());
  if (layout.ranks > 1) layout.zero_stage = said_of<&Settings::zero_stage>(knobs).value_or(0);
  return layout;
}

std::int64_t nth_of(std::int64_t bytes, std::int64_t ranks) { return (bytes + ranks - 1) / ranks; }

std::int64_t copies_of(const ModelBytes& model, const DeclaredLayout& layout) {
  return layout.offload == Offload::optimizer ? model.trained : 0;
}

// Of every kind of tensor a block, and of the frozen parameters one more.
std::int64_t late_cut_bytes(const ModelBytes& model, const DeclaredLayout& layout) {
  const std::int64_t kinds =
      (model.trained + model.gradients + model.optimizer + copies_of(model, layout)) / model.trained;
  const bool has_frozen = model.parameters > model.trained;
  return kBlockElements * model.element * (kinds + (has_frozen ? 1 : 0));
}

// state_memory_metrics.hpp; `on_device` leaves out what offload keeps on the host.
std::int64_t declared_bytes(const ModelBytes& model, const DeclaredLayout& layout, bool on_device) {
  const bool offloads = layout.offload != Offload::none;
  const std::int64_t states = on_device && offloads ? 0 : model.optimizer + copies_of(model, layout);
  const std::int64_t blocks = layout.zero_stage > 0 ? late_cut_bytes(model, layout) : 0;
  const std::int64_t on_its_way = offloads && !on_device ? model.largest_module : 0;
  const std::int64_t n = layout.ranks;
  switch (layout.zero_stage) {
    case 0:
      return layout.replicas * (model.parameters + model.gradients) + states + on_its_way;
    case 1:
      return model.parameters + model.gradients + nth_of(states, n) + blocks + on_its_way;
    case 2:
      return model.parameters + model.gradients + nth_of(model.gradients + states, n) + blocks + on_its_way;
    default: {
      const bool on_host = on_device && layout.offload == Offload::optimizer_and_param;
      const std::int64_t parameters = on_host ? 0 : model.parameters;
      const std::int64_t own = layout.adds_up ? model.gradients : 0;
      return nth_of(parameters + model.gradients + states, n) + blocks + model.largest_module + own;
    }
  }
}

// The bytes of every rank, and that all together held at least the whole model.
std::string unproven_bytes(const CellEvidence& cell, const ModelBytes& model) {
  for (const AttemptRecord& attempt : cell.repeats) {
    const DeclaredLayout layout = declared_layout(attempt);
    std::int64_t together_bytes = 0;
    std::int64_t on_host_bytes = 0;
    for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
      const CellResult& result = *attempt.ranks[rank].result;
      if (result.model_state_peak_bytes < 0 || result.model_state_device_peak_bytes < 0 ||
          result.model_state_host_peak_bytes < 0) {
        return fmt::format("rank {} of repeat {} measured none", rank, attempt.repeat);
      }
      together_bytes += result.model_state_peak_bytes;
      on_host_bytes += result.model_state_host_peak_bytes;
    }
    if (together_bytes < model.all()) {
      return fmt::format("the ranks of repeat {} say that they held {} B together, the model has {} B", attempt.repeat,
                         together_bytes, model.all());
    }
    const bool parameters_too = layout.offload == Offload::optimizer_and_param;
    const std::int64_t sent_bytes =
        layout.offload == Offload::none
            ? 0
            : model.optimizer + (parameters_too ? model.parameters : copies_of(model, layout));
    if (on_host_bytes < sent_bytes) {
      return fmt::format("the ranks of repeat {} say that they held {} B on the host, `offload: {}` sends {} B there",
                         attempt.repeat, on_host_bytes, text_of<&Settings::offload>(layout.offload), sent_bytes);
    }
  }
  return "";
}

Measurement fullest_rank(const CellEvidence& cell, const CellEvidence& alone, std::int64_t CellResult::*held,
                         bool on_device) {
  const ModelBytes model = model_bytes(alone);
  if (!model.missing.empty()) return no_value(model.missing);
  if (const std::string why = unproven_bytes(cell, model); !why.empty()) return no_value(why);
  Measurement worst;
  for (const AttemptRecord& attempt : cell.repeats) {
    const DeclaredLayout layout = declared_layout(attempt);
    const std::int64_t declared = declared_bytes(model, layout, on_device);
    for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
      const std::int64_t bytes = (*attempt.ranks[rank].result).*held;
      const double share = static_cast<double>(bytes) / static_cast<double>(declared);
      if (worst.value && share <= *worst.value) continue;
      worst = {share, std::nullopt, ""};
      worst.repeat = attempt.repeat;
      worst.statement =
          fmt::format("rank {} of {} held {} B of model state{}, `zero_stage: {}` and `offload: {}` allow {} B", rank,
                      attempt.ranks.size(), bytes, on_device ? " on the device" : "", layout.zero_stage,
                      text_of<&Settings::offload>(layout.offload), declared);
    }
  }
  return worst;
}

}  // namespace

Measurement model_state_bound_share(const CellEvidence& cell, const CellEvidence* alone) {
  return fullest_rank(cell, *alone, &CellResult::model_state_peak_bytes, false);
}

Measurement device_state_bound_share(const CellEvidence& cell, const CellEvidence* alone) {
  return fullest_rank(cell, *alone, &CellResult::model_state_device_peak_bytes, true);
}

}  // namespace reprobench
