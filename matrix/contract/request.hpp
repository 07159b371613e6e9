// request.json: what one attempt of one cell is asked to do. Written by the coordinator, read by
// the worker.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "matrix/contract/device_peaks.hpp"
#include "matrix/contract/knob.hpp"
#include "matrix/contract/replay.hpp"

namespace reprobench {

// How much of a run is digested. `step`: a root digest a step, the state's at a fixed cadence.
// `tensor`: every tensor of every step.
enum class TraceLevel { step, tensor };

// What is done, equal for every stack: the training of a model, or a probe of the device. Shapes and hyper-parameters
// that are not here belong to the preset.
struct WorkloadRequest {
  std::string model;   // a folder of models/; empty for a probe
  std::string preset;  // one of the presets that the model or the probe declares
  std::int64_t steps = 0;
  std::int64_t batch_size = 0;
  std::string probe = {};    // a row of probe.cpp; empty for a training, which has no other trace of this field
  std::int64_t samples = 0;  // of a probe: timed samples of every operation

  bool is_probe() const { return !probe.empty(); }
  const std::string& name() const { return is_probe() ? probe : model; }
  // What an injection's `step` counts: steps of a training, samples of a probe.
  std::int64_t repetitions() const { return is_probe() ? samples : steps; }
};

// A planted fault, to show that a detector goes red. It belongs to an attempt, not to the cell:
// with and without it the cell_id is the same. The kinds are injection_kinds().
struct Injection {
  std::string kind;       // "weight_ulp": the named element moves to the next representable value before `step`
  std::int64_t step = 0;  // 1-based
  std::string tensor;  // a parameter or a module, by kind: "fc1.weight", "h.0.attn.c_attn"; empty: the kind needs none
  std::int64_t element = 0;  // index into the row-major tensor
  bool operator==(const Injection&) const = default;
};

struct InjectionKind {
  std::string_view name;
  bool names_parameter;   // `tensor` is a parameter, `element` one of its elements
  bool of_probe = false;  // planted in a probe: `tensor` names one of its operations
};

// What the worker can plant: its tables (suites/worker/faults.cpp, operator_fault.cpp, probes/probe_fault.cpp) have a
// function for each.
std::span<const InjectionKind> injection_kinds();

// True for the kinds of probes, false for those of trainings and unknown ones.
bool is_of_probe(const Injection& injection);

struct CellRequest {
  std::string cell_id;
  std::string nonce;  // 16 hex digits, new for every attempt; each of its ranks must echo it
  int rank = 0;       // which of the attempt's `world_size` processes, from 0; each must echo it
  int repeat = 0;     // which of the fresh processes of this cell, from 0
  int attempt = 0;    // retry number of that repeat, from 0
  std::string suite;
  WorkloadRequest workload;
  std::string stack;
  std::string device;  // "cpu" or a class such as "sm_90"
  int world_size = 1;
  KnobValues knobs;  // complete
  TraceLevel trace = TraceLevel::step;
  std::int64_t turn_steps = 0;    // > 0: resident; does so many steps a turn, each when it is told (turns.hpp)
  bool poison_allocator = false;  // freshly allocated memory is filled with a pattern, so a read before write shows
  std::optional<Injection> inject;
  std::optional<Replay> replay;
  std::optional<DevicePeaks> peaks;  // of the GPU the cell was planned for; nothing for a CPU or an unknown GPU
};

// The steps an attempt does: the replay's, or all of the workload's.
std::int64_t first_step_of(const CellRequest& request);
std::int64_t last_step_of(const CellRequest& request);

// Which turn of a resident worker a step belongs to, from 0; nothing for a worker without turns.
std::optional<std::int64_t> block_of(const CellRequest& request, std::int64_t step);

nlohmann::json to_json(const WorkloadRequest& workload);
nlohmann::json to_json(const CellRequest& request);

// Throws ContractError naming the field.
CellRequest request_from_json(const nlohmann::json& json);

// The part of a request that says what the cell is: no nonce, rank, repeat, attempt, turns, fault or path. Its
// SHA-256 is the cell_id's hash.
nlohmann::json canonical_request(const CellRequest& request);

// Inverse of canonical_request: the other fields keep their defaults. Throws ContractError naming the field.
CellRequest canonical_request_from_json(const nlohmann::json& json);

nlohmann::json to_json(const Injection& injection);
Injection injection_from_json(const nlohmann::json& json);

std::string_view to_string(TraceLevel level);
std::optional<TraceLevel> trace_level_from(std::string_view word);

}  // namespace reprobench
