// What a replay asks of a worker: to do the steps of a cell once more, all or from a stored state, with more of them on
// record. A replay belongs to an attempt, never to the cell: with and without it the cell_id is the same.
//
// Beside trace.jsonl and result.json a replay leaves in the attempt's folder
//   state-STEP.safetensors       the whole state after STEP steps (contract/state_snapshot.hpp); 0: before the first
//   operators.jsonl              every operator call of the steps asked for (contract/operator_record.hpp)
//   operator.safetensors         the tensors of one of these calls, and its results in fp64 and with perturbed inputs
//   operator-N.safetensors       the same for the N-th further call, from 1
//   values.safetensors           with `keep_values`: outputs of operator calls of a step, by digest
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
  std::vector<std::int64_t> subgraph = {};  // calls of that step that are carried out in fp64 as well, each on what the
                                            // ones before it made in fp64
};

// Outputs of a step's operator calls that are to be kept: those with one of these digests.
struct KeptValues {
  std::int64_t step = 0;
  std::vector<std::string> digests;
};

// Outputs that a call returns instead of its own, one entry for each output. An empty digest keeps the call's own.
struct SubstitutedOutputs {
  std::int64_t index = 0;  // of the call within its step
  std::vector<std::string> digests;
};

// Calls of one step that return the outputs of another run's calls, so that later calls get that run's inputs. A
// difference behind another difference then shows by itself. Recorded operators and captures have the outputs that the
// calls themselves made.
struct SubstitutedInputs {
  std::string file;  // values.safetensors of the other run, absolute
  std::int64_t step = 0;
  std::vector<SubstitutedOutputs> calls;
};

struct Replay {
  std::string from_state;       // file of a state, absolute; empty: start from the initial values
  std::int64_t first_step = 1;  // the step after that of `from_state`
  std::int64_t last_step = 0;   // may be before the cell's last
  std::vector<std::int64_t> snapshots_after;
  std::int64_t operators_from = 0;  // first and last step of operators.jsonl; 0: none
  std::int64_t operators_to = 0;
  std::optional<OperatorSite> capture;
  std::vector<OperatorSite> further_captures = {};  // beside `capture`
  bool hold_state = false;                          // no update: every step sees another batch from the same state
  std::optional<KeptValues> keep_values = {};
  std::optional<SubstitutedInputs> substituted_inputs = {};

  bool records_operators(std::int64_t step) const { return step >= operators_from && step <= operators_to; }
  std::vector<OperatorSite> captures() const;  // `capture` and the further ones
};

template <>
struct Description<OperatorSite> {
  static constexpr About about = About::part("operator_site");
  static void fields(auto& field, OperatorSite& site) {
    field("step", site.step, rule::at_least(1));
    field("index", site.index, rule::at_least(0));
    field.optional("subgraph", site.subgraph,
                   rule::at_least(0).says("Calls of that step that are carried out in fp64 as well."));
  }
};

template <>
struct Description<KeptValues> {
  static constexpr About about = About::part("kept_values", "What operator calls of a step made, to be kept.");
  static void fields(auto& field, KeptValues& kept) {
    field("step", kept.step, rule::at_least(1));
    field("digests", kept.digests, rule::digest);
  }
};

template <>
struct Description<SubstitutedOutputs> {
  static constexpr About about = About::part("substituted_outputs", "What a call gives instead of what it makes.");
  static void fields(auto& field, SubstitutedOutputs& substituted) {
    field("index", substituted.index, rule::at_least(0));
    field("digests", substituted.digests, rule::hex(32, true).says("Of its outputs; empty: what it makes."));
  }
};

template <>
struct Description<SubstitutedInputs> {
  static constexpr About about =
      About::part("substituted_inputs", "Calls of one step that hand on what another run's calls made.");
  static void fields(auto& field, SubstitutedInputs& substituted) {
    field("file", substituted.file, rule::not_empty);
    field("step", substituted.step, rule::at_least(1));
    field("calls", substituted.calls);
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
    field.optional("keep_values", replay.keep_values, "What operator calls of a step made.");
    field.optional("substituted_inputs", replay.substituted_inputs, "What operator calls of a step give instead.");
    field.hold(!replay.keep_values || replay.records_operators(replay.keep_values->step),
               "keeps values of a step whose operators it does not record");
    field.hold(!replay.substituted_inputs || replay.records_operators(replay.substituted_inputs->step),
               "gives values in a step whose operators it does not record");
    field.hold(replay.capture || replay.further_captures.empty(), "asks for further captures and for no first one");
    field.hold(replay.last_step >= replay.first_step, "has no steps: its last is before its first");
  }
};

std::string snapshot_file(std::int64_t step);
std::string gradients_file(std::int64_t step);
inline constexpr const char* kOperatorsFile = "operators.jsonl";
inline constexpr const char* kValuesFile = "values.safetensors";

// The file of the capture with this number: 0 is `capture`, then come the further ones.
std::string operator_tensors_file(std::size_t number);
inline constexpr const char* kOperatorTensorsFile = "operator.safetensors";  // file of number 0

}  // namespace reprobench
