// request.json: what one attempt of one cell must do. The coordinator writes it, the worker reads it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/checkpoint.hpp"
#include "matrix/contract/device/device_peaks.hpp"
#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/contract/knob.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/contract/replay.hpp"

namespace reprobench {

// How much of a run is digested. `step`: one root digest for each step, that of the state at a fixed cadence. `tensor`:
// every tensor of every step. `recent`: as much, but only the last steps stay on record (recent_tensors.hpp).
enum class TraceLevel { step, recent, tensor };
template <>
struct Words<TraceLevel> {
  static constexpr std::array<std::string_view, 3> table = {"step", "recent", "tensor"};
};

// Whether a step's root is that of all its tensors. Levels for which it is have equal roots for equal bits.
constexpr bool digests_tensors(TraceLevel level) { return level != TraceLevel::step; }

// The work of a cell, equal for every stack: the training of a model, or a probe of the device. Shapes and
// hyper-parameters that are not here belong to the preset.
struct WorkloadRequest {
  std::string model;   // a folder of models/; empty for a probe
  std::string preset;  // one of the presets that the model or the probe declares
  std::int64_t steps = 0;
  std::int64_t batch_size = 0;
  std::string probe = {};    // a row of probe.cpp; empty and not written for a training
  std::int64_t samples = 0;  // for a probe: timed samples of every operation
  // For the probe `operators`: its calls (declared_call.hpp), and the memory that one of them may take.
  std::vector<std::string> calls = {};
  std::int64_t memory_bytes = 0;
  // A user's file with tensors that its calls name, as `data_sha256` and `data_file` below.
  std::string tensors_sha256 = {};
  std::string tensors_file = {};
  // For the probe `package`: the user's AOTInductor package that it runs, likewise.
  std::string package_sha256 = {};
  std::string package_file = {};
  // For a training, > 0: it is done once more in two processes, the first of which stops after so many steps
  // (attempt_segment.hpp).
  std::int64_t resume_after = 0;
  std::int64_t resume_world_size = 0;  // > 0: ranks of the second; each does more or fewer micro-batches
  // For a training on a user's files, in place of the model's own data or of drawn weights: their SHA-256 and their
  // paths. The SHA-256 is part of the work. The path is not; it is beside the workload in requests and plans. kOwnFiles
  // has a row for each.
  std::string data_sha256 = {};
  std::string data_file = {};
  std::string weights_sha256 = {};
  std::string weights_file = {};
  std::vector<std::string> weights_shards = {};  // files beside `weights_file`, if that is their index

  bool is_probe() const { return !probe.empty(); }
  const std::string& name() const { return is_probe() ? probe : model; }
  // The unit of an injection's `step`: steps of a training, calls or samples of a probe.
  std::int64_t repetitions() const {
    if (!calls.empty()) return static_cast<std::int64_t>(calls.size());
    return is_probe() ? samples : steps;
  }
};

// A kind of user's file that may replace something of a workload.
struct OwnFileField {
  std::string_view name;  // key of a matrix and of a workload, and option: `--data`; `tensors`: of a list of calls
  std::string WorkloadRequest::*sha256;
  std::string WorkloadRequest::*file;
};

inline constexpr std::array<OwnFileField, 4> kOwnFiles = {{
    {"data", &WorkloadRequest::data_sha256, &WorkloadRequest::data_file},
    {"weights", &WorkloadRequest::weights_sha256, &WorkloadRequest::weights_file},
    {"tensors", &WorkloadRequest::tensors_sha256, &WorkloadRequest::tensors_file},
    {"package", &WorkloadRequest::package_sha256, &WorkloadRequest::package_file},
}};

template <>
struct Description<WorkloadRequest> {
  static constexpr About about = About::part("workload", "The training of a model, or a probe of the device.");
  // In the order of their names, as canonical_fields.
  static void fields(auto& field, WorkloadRequest& workload) {
    if (field.either("probe", workload.is_probe())) {
      field.optional("calls", workload.calls, "Operator calls, of the probe `operators`.");
      field.optional("memory_bytes", workload.memory_bytes, rule::at_least(1).says("That one call may take."));
      field.optional("package_sha256", workload.package_sha256,
                     rule::hex(64).says("What the AOTInductor package holds, of the probe `package`."));
      field("preset", workload.preset);
      field("probe", workload.probe, rule::not_empty);
      field("samples", workload.samples, rule::at_least(1));
      field.optional("tensors_sha256", workload.tensors_sha256,
                     rule::hex(64).says("What the file holds whose tensors its calls name."));
      field.hold(workload.tensors_sha256.empty() || !workload.calls.empty(),
                 "`tensors_sha256` is of a list of `calls`");
      field.hold(workload.package_sha256.empty() || workload.probe == kPackageProbe,
                 "`package_sha256` is of the probe `package`");
    } else {
      field("batch_size", workload.batch_size, rule::at_least(1));
      field.optional("data_sha256", workload.data_sha256,
                     rule::hex(64).says("What the file holds that is in the place of the model's own data."));
      field("model", workload.model);
      field("preset", workload.preset);
      field.optional("resume_after", workload.resume_after,
                     rule::at_least(1).says("Once more in two processes: the first is stopped after so many steps."));
      field.optional("resume_world_size", workload.resume_world_size,
                     rule::at_least(1).says("The second of them has so many ranks; absent: as many as the first."));
      field("steps", workload.steps, rule::at_least(1));
      field.optional("weights_sha256", workload.weights_sha256,
                     rule::hex(64).says("What the file holds that training begins with; of an index and its shards "
                                        "that of what `sha256sum` prints of them."));
      field.hold(workload.resume_after == 0 || workload.resume_after < workload.steps,
                 "leaves no step to resume: `resume_after` is not below `steps`");
      field.hold(workload.resume_world_size == 0 || workload.resume_after > 0,
                 "`resume_world_size` is of a training that is resumed: `resume_after`");
    }
  }
};

// A planted fault, to show that a detector goes red. It belongs to an attempt, not to the cell: with and without it the
// cell_id is the same. Its kinds are those of injection_kinds().
struct Injection {
  std::string kind;       // "weight_ulp": the named element moves to the next representable value before `step`
  std::int64_t step = 0;  // 1-based
  std::string tensor;  // by kind a parameter or a module: "fc1.weight", "h.0.attn.c_attn"; empty: the kind needs none
  std::int64_t element = 0;  // index into the row-major tensor
  int rank = 0;              // the process of the attempt in which it is planted
  bool operator==(const Injection&) const = default;
};

template <>
struct Description<Injection> {
  static constexpr About about = About::part("injection", "A planted fault, to show that a detector goes red.");
  static void fields(auto& field, Injection& injection) {
    field("kind", injection.kind);
    field("step", injection.step, rule::at_least(1).says("1-based."));
    field("tensor", injection.tensor);
    field("element", injection.element, rule::at_least(0).says("Index into the row-major tensor."));
    field.optional("rank", injection.rank, rule::at_least(1).says("The process it is planted in; absent: rank 0."));
  }
};

struct InjectionKind {
  std::string_view name;
  bool names_parameter;      // `tensor` is a parameter, `element` one of its elements
  bool of_probe = false;     // planted in a probe: `tensor` names one of its operations
  bool of_resuming = false;  // planted where a run goes on from a checkpoint; `step` is the first one after it
};

// The faults that the worker can plant. Its tables (suites/worker/faults/faults.cpp, operator_fault.cpp,
// probes/probe_fault.cpp) have a function for each.
std::span<const InjectionKind> injection_kinds();

// True for the kinds of probes; false for those of trainings and for unknown kinds.
bool is_of_probe(const Injection& injection);

// True for the kinds that are planted where a run goes on from a checkpoint.
bool is_of_resuming(const Injection& injection);

struct CellRequest {
  std::string cell_id;
  std::string nonce;  // 16 hex digits, new for every attempt; each of its ranks must echo it
  int rank = 0;       // which of the attempt's `world_size` processes, from 0; each must echo it
  int repeat = 0;     // which of the fresh processes of this cell, from 0
  int attempt = 0;    // retry number of that repeat, from 0
  std::string suite;
  WorkloadRequest workload;
  std::string stack;
  std::string device;  // the text of a DeviceClass
  int world_size = 1;
  KnobValues knobs;  // complete: with defaults
  TraceLevel trace = TraceLevel::step;
  std::int64_t turn_steps = 0;             // > 0: resident; does so many steps each turn, when told to (turns.hpp)
  std::int64_t collective_timeout_ms = 0;  // > 0: how long a rank waits for the others in one collective
  std::int64_t gemm_peak_samples = 0;      // > 0: for a training: matrix products are timed too, each so many times
  bool weight_change = false;     // for a training: the distance of its weights from their initial values is measured
  bool poison_allocator = false;  // new memory is filled with a pattern, so that a read before the first write shows
  std::optional<Injection> inject;
  std::optional<Replay> replay;
  std::optional<Checkpointing> checkpoint;
  std::optional<DevicePeaks> peaks;   // of the GPU the cell was planned for; nothing for a CPU or an unknown GPU
  std::optional<LinkPeak> link_peak;  // between the GPUs the attempt was given; nothing for one GPU or unknown links
};

// The part of a request that identifies the cell. It has no nonce, rank, repeat, attempt, turns, fault or path. Fields
// are in the order of their names, because the cell_id is a hash of their text (plan/cell_id.cpp). `knobs_of` chooses
// the knobs that are written: a planned cell writes only those that are not at their default.
void canonical_fields(auto& field, CellRequest& request, auto knobs_of) {
  field("device", request.device, R"("cpu" or a class such as "sm_90".)");
  field.as(
      "knobs", [&]() -> decltype(auto) { return knobs_of(request.knobs); },
      [&](const KnobValues& knobs) { request.knobs = knobs; },
      "Every knob by name, each with the text of its value; complete.");
  field("stack", request.stack);
  field("suite", request.suite);
  field("trace", request.trace);
  field("workload", request.workload);
  field("world_size", request.world_size, rule::at_least(1));
}
void canonical_fields(auto& field, CellRequest& request) { canonical_fields(field, request, std::identity()); }

// The paths of the user's files, which the workload identifies by their SHA-256. They are in no hash, because a file
// may be moved.
void file_fields(auto& field, WorkloadRequest& workload) {
  field.optional("data_file", workload.data_file, "Where the file with `data_sha256` was when the cell was planned.");
  field.hold(workload.data_file.empty() == workload.data_sha256.empty(), "`data_file` and `data_sha256` go together");
  field.optional("package_file", workload.package_file,
                 "Where the file with `package_sha256` was when the cell was planned.");
  field.hold(workload.package_file.empty() == workload.package_sha256.empty(),
             "`package_file` and `package_sha256` go together");
  field.optional("tensors_file", workload.tensors_file,
                 "Where the file with `tensors_sha256` was when the cell was planned.");
  field.hold(workload.tensors_file.empty() == workload.tensors_sha256.empty(),
             "`tensors_file` and `tensors_sha256` go together");
  field.optional("weights_file", workload.weights_file,
                 "Where the file with `weights_sha256` was when the cell was planned.");
  field.optional("weights_shards", workload.weights_shards, "Names of the files beside it, if it is their index.");
  field.hold(workload.weights_file.empty() == workload.weights_sha256.empty(),
             "`weights_file` and `weights_sha256` go together");
}

// These are in no hash either: they are measured once the training is over, which is the same with and without them.
void afterwards_fields(auto& field, CellRequest& request) {
  field.optional("gemm_peak_samples", request.gemm_peak_samples,
                 rule::at_least(1).says("Of a training: matrix products are timed after it, so often each."));
  field.optional("weight_change", request.weight_change,
                 "Of a training: how far its weights have come from their initial values is measured.");
}

template <>
struct Description<CellRequest> {
  static constexpr About about =
      About::document("request", "request.json: what one attempt of one cell is asked to do");
  static void fields(auto& field, CellRequest& request) {
    field("cell_id", request.cell_id, rule::not_empty);
    field("nonce", request.nonce, rule::not_empty);
    field("rank", request.rank, rule::at_least(0).says("Which of the attempt's processes, from 0."));
    field("repeat", request.repeat, rule::at_least(0));
    field("attempt", request.attempt, rule::at_least(0));
    canonical_fields(field, request);
    file_fields(field, request.workload);
    field("poison_allocator", request.poison_allocator);
    field("inject", request.inject);
    field.optional("turn_steps", request.turn_steps,
                   rule::at_least(1).says("Of a resident worker: steps a turn, each done when turns.jsonl says so."));
    field.optional("collective_timeout_ms", request.collective_timeout_ms,
                   rule::at_least(1).says("Of several ranks: how long one waits for the others in a collective."));
    afterwards_fields(field, request);
    field.optional("replay", request.replay);
    field.optional("checkpoint", request.checkpoint);
    field.optional("peaks", request.peaks);
    field.optional("link_peak", request.link_peak);
  }
};

// The knobs inside one rank. `threads` is for the whole attempt; its ranks or replicas share them, and each has at
// least one.
KnobValues knobs_of_rank(const CellRequest& request);

// "bf16"
std::string precision_text(const CellRequest& request);

// How many GPUs one of its processes sees; 0 for a cell on the CPU.
int gpus_of_rank(const CellRequest& request);

// The steps that a process does: the replay's, those between two checkpoints, or all of the workload's.
std::int64_t first_step_of(const CellRequest& request);
std::int64_t last_step_of(const CellRequest& request);

// The number of equal micro-batches into which a step's batch is cut: `world_size` times the knobs `replicas` and
// `accumulate`.
std::int64_t micro_batches_of(const CellRequest& request);

// Whether matrix products are timed once this training is over, as the whole of which its speed is a share. A replay is
// not timed. Ranks or replicas that share a host would time each other.
bool measures_gemm_peak(const CellRequest& request);

// The turn of a resident worker that a step belongs to, from 0; nothing for a worker without turns.
std::optional<std::int64_t> block_of(const CellRequest& request, std::int64_t step);

nlohmann::json to_json(const WorkloadRequest& workload);
nlohmann::json to_json(const CellRequest& request);

// Throws ContractError naming the field.
CellRequest request_from_json(const nlohmann::json& json);

nlohmann::json canonical_request(const CellRequest& request);

// The inverse of canonical_request: the other fields keep their defaults. Throws ContractError naming the field.
CellRequest canonical_request_from_json(const nlohmann::json& json);

}  // namespace reprobench
