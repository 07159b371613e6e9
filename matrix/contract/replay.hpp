// What a replay asks of a worker: the steps of a cell once more, all or from a stored state, and more of them on
// record. A replay belongs to an attempt, never to the cell: with and without it the cell_id is the same.
//
// Beside trace.jsonl and result.json a replay leaves in the attempt's folder
//   state-STEP.safetensors       the whole state after STEP steps (contract/state_snapshot.hpp); 0: before the first
//   operators.jsonl              every operator call of the steps asked for (contract/operator_record.hpp)
//   operator.safetensors         the tensors of one of these calls, and what fp64 and perturbed inputs make of them
//   gradients-STEP.safetensors   with `hold_state`: parameter gradients of every step, and for the first one the update
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace reprobench {

// One operator call: the `index`-th record of its step in operators.jsonl.
struct OperatorSite {
  std::int64_t step = 0;
  std::int64_t index = 0;
};

struct Replay {
  std::string from_state;       // file of a state, absolute; empty: the initial values
  std::int64_t first_step = 1;  // the step after `from_state`'s
  std::int64_t last_step = 0;   // may be before the cell's last
  std::vector<std::int64_t> snapshots_after;
  std::int64_t operators_from = 0;  // first and last step of operators.jsonl; 0: none
  std::int64_t operators_to = 0;
  std::optional<OperatorSite> capture;
  bool hold_state = false;  // no update: every step sees another batch from the same state
};

nlohmann::json to_json(const Replay& replay);

// Throws ContractError naming the field.
Replay replay_from_json(const nlohmann::json& json);

std::string snapshot_file(std::int64_t step);
std::string gradients_file(std::int64_t step);
inline constexpr const char* kOperatorsFile = "operators.jsonl";
inline constexpr const char* kOperatorTensorsFile = "operator.safetensors";

}  // namespace reprobench
