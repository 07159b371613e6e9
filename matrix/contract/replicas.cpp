#include "matrix/contract/replicas.hpp"

#include <string_view>

namespace reprobench {
namespace {

// A knob that replicas are not built for, unless it is left at its default.
struct Against {
  std::string_view knob;
  std::string_view why;
};

constexpr Against kAgainst[] = {
    {"zero_stage", "the optimizer's states are shared out among ranks, and replicas have none: replica 0 updates"},
    {"offload", "what goes to the host is one model's state, and replicas have weights of their own beside it"},
    {"overlap", "gradients are exchanged among ranks, and those of replicas are added up where they lie"},
    {"optimizer_layout", "the weights of one replica would be pieces of a buffer, those of the others tensors"},
    {"gradient_checkpointing", "blocks are computed again by one thread of a process, and each replica has its own"},
};

std::string against(std::int64_t replicas, std::string_view setting, std::string_view value, std::string_view why) {
  return "replicas=" + std::to_string(replicas) + " with " + std::string(setting) + "=" + std::string(value) + ": " +
         std::string(why);
}

}  // namespace

std::int64_t replicas_of(const KnobValues& knobs) {
  const auto replicas = knobs.find("replicas");
  return replicas == knobs.end() ? 1 : std::stoll(replicas->second);
}

std::optional<std::string> why_no_replicas(const CellRequest& request, int most_ranks) {
  const std::int64_t replicas = replicas_of(request.knobs);
  if (replicas == 1) return std::nullopt;
  if (request.workload.is_probe()) {
    return against(replicas, "probe", request.workload.probe, "a probe has no model of which there could be several");
  }
  if (most_ranks > 1) {
    return against(replicas, "world_size", std::to_string(most_ranks),
                   "a step's batch is shared out among ranks or among replicas of one process, not both");
  }
  if (request.device != "cpu") {
    return against(replicas, "device", request.device,
                   "replicas are threads on the CPU; digests and times of several GPUs of one process are not taken");
  }
  const KnobValues chosen = without_defaults(request.knobs);
  for (const Against& row : kAgainst) {
    const auto found = chosen.find(std::string(row.knob));
    if (found != chosen.end()) return against(replicas, row.knob, found->second, row.why);
  }
  return std::nullopt;
}

}  // namespace reprobench
