// request.json: what one attempt of one cell is asked to do. Written by the coordinator, read by
// the worker.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "matrix/contract/knob.hpp"
#include "matrix/contract/replay.hpp"

namespace reprobench {

// How much of a run is digested. `step`: a root digest a step, the state's at a fixed cadence.
// `tensor`: every tensor of every step.
enum class TraceLevel { step, tensor };

// The model and the loop, equal for every stack. Shapes and hyper-parameters that are not here
// belong to the model's preset.
struct WorkloadRequest {
  std::string model;   // a folder of models/
  std::string preset;  // one of the presets that model declares
  std::int64_t steps = 0;
  std::int64_t batch_size = 0;
};

// A planted fault, to show that a detector goes red. It belongs to an attempt, not to the cell:
// with and without it the cell_id is the same. The kinds are injection_kinds().
struct Injection {
  std::string kind;       // "weight_ulp": the named element moves to the next representable value before `step`
  std::int64_t step = 0;  // 1-based
  std::string tensor;  // a parameter or a module, by kind: "fc1.weight", "h.0.attn.c_attn"; empty: the kind needs none
  std::int64_t element = 0;  // index into the row-major tensor
};

struct InjectionKind {
  std::string_view name;
  bool names_parameter;  // `tensor` is a parameter, `element` one of its elements
};

// What the worker can plant: its tables (suites/worker/faults.cpp, operator_fault.cpp) have a function for each.
std::span<const InjectionKind> injection_kinds();

struct CellRequest {
  std::string cell_id;
  std::string nonce;  // 16 hex digits, new for every attempt; the result must echo it
  int repeat = 0;     // which of the fresh processes of this cell, from 0
  int attempt = 0;    // retry number of that repeat, from 0
  std::string suite;
  WorkloadRequest workload;
  std::string stack;
  std::string device;  // "cpu" or a class such as "sm_90"
  int world_size = 1;
  KnobValues knobs;  // complete
  TraceLevel trace = TraceLevel::step;
  bool poison_allocator = false;  // freshly allocated memory is filled with a pattern, so a read before write shows
  std::optional<Injection> inject;
  std::optional<Replay> replay;
};

// The steps an attempt does: the replay's, or all of the workload's.
std::int64_t first_step_of(const CellRequest& request);
std::int64_t last_step_of(const CellRequest& request);

nlohmann::json to_json(const CellRequest& request);

// Throws ContractError naming the field.
CellRequest request_from_json(const nlohmann::json& json);

// The part of a request that says what the cell is: no nonce, repeat, attempt, fault or path. Its
// SHA-256 is the cell_id's hash.
nlohmann::json canonical_request(const CellRequest& request);

// Inverse of canonical_request: the other fields keep their defaults. Throws ContractError naming the field.
CellRequest canonical_request_from_json(const nlohmann::json& json);

nlohmann::json to_json(const Injection& injection);
Injection injection_from_json(const nlohmann::json& json);

std::string_view to_string(TraceLevel level);
std::optional<TraceLevel> trace_level_from(std::string_view word);

}  // namespace reprobench
