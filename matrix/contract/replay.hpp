// What a replay asks of a worker: the steps of a cell once more, all or from a stored state, and more of them on
// record. A replay belongs to an attempt, never to the cell: with and without it the cell_id is the same.
//
// Beside trace.jsonl and result.json a replay leaves in the attempt's folder
//   state-STEP.safetensors       the whole state after STEP steps (contract/state_snapshot.hpp); 0: before the first
//   operators.jsonl              every operator call of the steps asked for (contract/operator_record.hpp)
//   operator.safetensors         the tensors of one of these calls, and what fp64 and perturbed inputs make of them;
//   operator-N.safetensors       the same of the N-th further call, from 1
//   gradients-STEP.safetensors   with `hold_state`: parameter gradients of every step, and for the first one the update
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

// One operator call: the `index`-th record of its step in operators.jsonl.
struct OperatorSite {
  std::int64_t step = 0;
  std::int64_t index = 0;
  std::vector<std::int64_t> stretch = {};  // calls of that step that are carried out in fp64 as well, each on what the
                                           // ones before it made in fp64
};

struct Replay {
  std::string from_state;       // file of a state, absolute; empty: the initial values
  std::int64_t first_step = 1;  // the step after `from_state`'s
  std::int64_t last_step = 0;   // may be before the cell's last
  std::vector<std::int64_t> snapshots_after;
  std::int64_t operators_from = 0;  // first and last step of operators.jsonl; 0: none
  std::int64_t operators_to = 0;
  std::optional<OperatorSite> capture;
  std::vector<OperatorSite> further_captures = {};  // beside it
  bool hold_state = false;                          // no update: every step sees another batch from the same state
};

template <>
struct Description<OperatorSite> {
  static constexpr About about = About::part("operator_site");
  static void fields(auto& field, OperatorSite& site) {
    field("step", site.step, rule::at_least(1));
    field("index", site.index, rule::at_least(0));
    field.optional("stretch", site.stretch,
                   rule::at_least(0).says("Calls of that step that are carried out in fp64 as well."));
  }
};

template <>
struct Description<Replay> {
  static constexpr About about = About::part(
      "replay", "The steps of a cell once more, from a stored state or the start, and more of them on record.");
  static void fields(auto& field, Replay& replay) {
    field("from_state", replay.from_state, "File of a state; empty: the initial values.");
    field("first_step", replay.first_step, rule::at_least(1));
    field("last_step", replay.last_step, rule::at_least(1));
    field("snapshots_after", replay.snapshots_after, rule::at_least(0));
    field("operators_from", replay.operators_from, rule::at_least(0).says("0: none."));
    field("operators_to", replay.operators_to, rule::at_least(0));
    field("capture", replay.capture);
    field.optional("further_captures", replay.further_captures, "Beside `capture`.");
    field("hold_state", replay.hold_state, "No update: every step sees another batch from the same state.");
    field.hold(replay.capture || replay.further_captures.empty(), "asks for further captures and for no first one");
    field.hold(replay.last_step >= replay.first_step, "has no steps: its last is before its first");
  }
};

std::string snapshot_file(std::int64_t step);
std::string gradients_file(std::int64_t step);
inline constexpr const char* kOperatorsFile = "operators.jsonl";

// Of the capture with this number: 0 is `capture`, then follow the further ones.
std::string operator_tensors_file(std::size_t number);
inline constexpr const char* kOperatorTensorsFile = "operator.safetensors";  // of number 0

}  // namespace reprobench
