#include "matrix/contract/replay.hpp"

#include "matrix/contract/json_field.hpp"

namespace reprobench {

using nlohmann::json;

json to_json(const Replay& replay) {
  json capture = nullptr;
  if (replay.capture) capture = {{"step", replay.capture->step}, {"index", replay.capture->index}};
  return {{"from_state", replay.from_state},         {"first_step", replay.first_step},
          {"last_step", replay.last_step},           {"snapshots_after", replay.snapshots_after},
          {"operators_from", replay.operators_from}, {"operators_to", replay.operators_to},
          {"capture", std::move(capture)},           {"hold_state", replay.hold_state}};
}

Replay replay_from_json(const json& object) {
  Replay replay;
  replay.from_state = required<std::string>("request", object, "from_state");
  replay.first_step = required<std::int64_t>("request", object, "first_step");
  replay.last_step = required<std::int64_t>("request", object, "last_step");
  replay.snapshots_after = required<std::vector<std::int64_t>>("request", object, "snapshots_after");
  replay.operators_from = required<std::int64_t>("request", object, "operators_from");
  replay.operators_to = required<std::int64_t>("request", object, "operators_to");
  replay.hold_state = required<bool>("request", object, "hold_state");
  const json capture = required<json>("request", object, "capture");
  if (!capture.is_null()) {
    replay.capture = OperatorSite{required<std::int64_t>("request", capture, "step"),
                                  required<std::int64_t>("request", capture, "index")};
  }
  if (replay.first_step < 1 || replay.last_step < replay.first_step) {
    throw ContractError("request: `replay` has no steps from " + std::to_string(replay.first_step) + " to " +
                        std::to_string(replay.last_step));
  }
  return replay;
}

std::string snapshot_file(std::int64_t step) { return "state-" + std::to_string(step) + ".safetensors"; }
std::string gradients_file(std::int64_t step) { return "gradients-" + std::to_string(step) + ".safetensors"; }

}  // namespace reprobench
