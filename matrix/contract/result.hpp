// result.json: the worker's last output, written under a temporary name and renamed. If no complete result.json echoes
// cell_id and nonce, the worker died, whatever it printed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/checkpoint.hpp"
#include "matrix/contract/device/device_facts.hpp"
#include "matrix/contract/device/nccl_facts.hpp"
#include "matrix/contract/knob.hpp"
#include "matrix/contract/probe_measurement.hpp"
#include "matrix/contract/step_implementations.hpp"
#include "matrix/contract/turns.hpp"

namespace reprobench {

// Why a worker could not finish. Any exception ends here.
struct WorkerFailure {
  // "exception", "non_finite_loss", "unsupported", "cuda_oom", "host_oom", "bad_request", "interrupted",
  // "data_loader" (a batch could not be made), "input_changed" (a file of the user's is not the one that was planned),
  // "input_refused" (it is, and holds no weights of the model, or no package of its forward pass);
  // of several ranks "collective" (another rank is missing or the call did not end), "collective_error" (this rank's
  // library failed); of a GPU "no_driver", "driver_too_old", "no_device", "device_lost",
  // "no_kernel_image", "kernel_rejected", "illegal_address", "launch_failed", "device_assert", "cuda_error"
  std::string cause;
  std::string detail;                  // the exception's text, one line
  std::int64_t step = 0;               // 0 before the first step
  std::optional<int> waited_for = {};  // for a collective that did not end: the rank that it waited for
  bool calls_differ = false;           // that rank makes another call than the others; false: not known
};

// The version of one part of the stack, from three witnesses; a disagreement between them is a finding.
struct ComponentVersion {
  std::string name;      // "torch", "cuda", "cudnn", "nccl", "blas", "openmp"
  std::string compiled;  // what the headers said; empty if unknown
  std::string loaded;    // what the library reports when asked; empty if it is not loaded
  std::string path;      // file it was mapped from, relative to the stack's folder if it is inside

  bool operator==(const ComponentVersion& other) const = default;
};

struct MappedLibrary {
  std::string path;
  std::string build_id;  // hex of the ELF note, empty if it has none
};

// The software and settings that were really loaded. Equal fingerprints promise equal bits (class A).
struct Fingerprint {
  std::vector<ComponentVersion> components;
  std::vector<MappedLibrary> libraries;  // torch, CUDA, BLAS, OpenMP and C++ runtime objects in the process
  std::string compiler;                  // compiler of the worker
  int cxx11_abi = 1;
  std::string cpu_model;
  std::string cpu_capability;  // the instructions for which ATen chooses its kernels
  int threads = 1;
  int interop_threads = 1;
  std::string blas_provider;                       // "mkl", "openblas", "netlib" ...
  std::string device_name;                         // empty on the CPU
  std::optional<DeviceFacts> device;               // nothing on the CPU; without its UUID
  std::map<std::string, std::string> flags;        // resolved LibTorch settings by name
  std::map<std::string, std::string> environment;  // allow-listed variables that were set, and kSystemPreload's text
};

// The loader's own list of libraries for every program (ld.so(8)), which no variable shows.
inline constexpr const char* kSystemPreload = "/etc/ld.so.preload";

// How a training used a user's file of data: its records as samples.
struct DataUse {
  std::int64_t records = 0;
  std::int64_t samples = 0;  // other records leave no room for a response in the context
  std::int64_t cut = 0;      // samples whose response ends beyond the context
};

// How a training used the tensors of a user's file of weights.
struct WeightsUse {
  std::int64_t loaded = 0;       // parameters and buffers that begin with the file's values
  std::int64_t drawn = 0;        // adapters, which no such file has
  std::int64_t passed_over = 0;  // tensors of the file that are constants of another implementation
};

// The floating-point operations of a step by the model's formula, with what they count, so that those of one batch are
// never divided by the time of another.
struct ModelFlops {
  std::int64_t flops_per_step = 0;  // of all ranks; 0: see `missing`
  std::string missing = {};         // sentence: why there is no such number
  std::int64_t samples = 0;         // of all ranks, in a step
  std::string convention;           // "matrix products, PaLM appendix B"
  std::string dtype;                // type in which the products are computed: "fp32", "tf32", "bf16", "fp16", "fp64"
};

struct CellResult {
  std::string cell_id;
  std::string nonce;
  int rank = 0;
  std::optional<WorkerFailure> failure;  // nothing: all steps done
  std::string workload_digest;           // empty if the failure came first
  std::int64_t steps_completed = 0;
  std::string chain;  // after the last step
  std::int64_t trace_lines = 0;
  std::int64_t peak_rss_bytes = 0;
  std::int64_t peak_anonymous_bytes = -1;  // the part of it that is no mapped file; -1: an older worker
  std::int64_t peak_allocated_bytes = -1;  // device allocator; -1 on the CPU
  std::int64_t peak_reserved_bytes = -1;
  std::int64_t optimizer_state_bytes = -1;   // this rank's optimizer state, as allocated; -1: no training
  std::int64_t model_state_peak_bytes = -1;  // peak of parameters, gradients and optimizer state here; -1: no training
  std::int64_t model_state_device_peak_bytes = -1;  // peak of the part where the training runs,
  std::int64_t model_state_host_peak_bytes = -1;    // and of the part that `offload` keeps on the host
  std::int64_t start_to_first_step_ns = 0;          // from process start to the end of the first step
  KnobValues knobs_resolved;  // the value that each knob had; differs from the request if the stack could not do it
  Fingerprint fingerprint;
  // For a probe, in the order they were taken; for a training the matrix products that measures_gemm_peak() asks for.
  std::vector<ProbeMeasurement> measurements;
  std::optional<CheckpointsOfRun> checkpoints = {};  // if the request asks for some
  std::optional<DataUse> data = {};                  // for a training on a user's file
  std::optional<WeightsUse> weights = {};            // for a training that begins with a user's file
  // For a training that was asked for it and knows its initial values: the L2 distance of all trained weights from
  // those, as a share of their L2 norm.
  std::optional<double> weight_change_rel = {};
  std::optional<ModelFlops> model_flops = {};  // for a training; nothing: an older worker, or the failure came first
  std::optional<NcclFacts> nccl = {};          // for several ranks on GPUs
  std::optional<StepImplementations> implementations = {};  // for a training that did all its steps and is no replay
  std::optional<TurnsWait> turns_wait = {};                 // for a resident
};

template <>
struct Description<WorkerFailure> {
  static constexpr About about = About::part("failure");
  static void fields(auto& field, WorkerFailure& failure) {
    field("cause", failure.cause);
    field("detail", failure.detail);
    field("step", failure.step, rule::at_least(0));
    field.optional("waited_for", failure.waited_for,
                   rule::at_least(0).says("Of a collective that did not end: the rank that it waited for."));
    field.optional("calls_differ", failure.calls_differ,
                   "That rank makes another call than the others do; false or not there: it is not known to.");
  }
};

template <>
struct Description<ComponentVersion> {
  static constexpr About about = About::part("component");
  static void fields(auto& field, ComponentVersion& component) {
    field("name", component.name);
    field("compiled", component.compiled, "What the headers said; empty if unknown.");
    field("loaded", component.loaded, "What the library says when asked; empty if it is not loaded.");
    field("path", component.path, "File it was mapped from.");
  }
};

template <>
struct Description<MappedLibrary> {
  static constexpr About about = About::part("library");
  static void fields(auto& field, MappedLibrary& library) {
    field("path", library.path);
    field("build_id", library.build_id);
  }
};

template <>
struct Description<Fingerprint> {
  static constexpr About about = About::part("fingerprint", "What was really loaded and set.");
  static void fields(auto& field, Fingerprint& fingerprint) {
    field("components", fingerprint.components);
    field("libraries", fingerprint.libraries);
    field("compiler", fingerprint.compiler);
    field("cxx11_abi", fingerprint.cxx11_abi, rule::between(0, 1));
    field("cpu_model", fingerprint.cpu_model);
    field("cpu_capability", fingerprint.cpu_capability);
    field("threads", fingerprint.threads, rule::at_least(0));
    field("interop_threads", fingerprint.interop_threads, rule::at_least(0));
    field("blas_provider", fingerprint.blas_provider);
    field("device_name", fingerprint.device_name, "Empty on the CPU.");
    field.optional("device", fingerprint.device);
    field("flags", fingerprint.flags, "Resolved LibTorch settings by name.");
    field("environment", fingerprint.environment, "Allow-listed variables that were set.");
  }
};

template <>
struct Description<DataUse> {
  static constexpr About about = About::part("data_use", "What became of the records of a file of the user's.");
  static void fields(auto& field, DataUse& use) {
    field("records", use.records, rule::at_least(1));
    field("samples", use.samples, rule::at_least(1).says("The others have no room for a response in the context."));
    field("cut", use.cut, rule::at_least(0).says("Samples whose response ends beyond the context."));
  }
};

template <>
struct Description<WeightsUse> {
  static constexpr About about = About::part("weights_use", "What became of the tensors of a user's file of weights.");
  static void fields(auto& field, WeightsUse& use) {
    field("loaded", use.loaded,
          rule::at_least(1).says("Parameters and buffers of the model that began as the file has them."));
    field("drawn", use.drawn, rule::at_least(0).says("Parameters that no such file has: adapters."));
    field("passed_over", use.passed_over,
          rule::at_least(0).says("Tensors of the file that are constants of another implementation, or copies."));
  }
};

template <>
struct Description<ModelFlops> {
  static constexpr About about = About::part("model_flops", "Floating-point operations of a step, by a formula.");
  static void fields(auto& field, ModelFlops& flops) {
    field("flops_per_step", flops.flops_per_step, rule::at_least(0).says("Of all ranks; 0: `missing` says why."));
    field("missing", flops.missing);
    field("samples", flops.samples, rule::at_least(1).says("Of all ranks, in a step."));
    field("convention", flops.convention, rule::not_empty);
    field("dtype", flops.dtype, rule::not_empty);
    field.hold((flops.flops_per_step == 0) == !flops.missing.empty(),
               "needs either `flops_per_step` or why it is `missing`");
  }
};

template <>
struct Description<CellResult> {
  static constexpr About about = About::document("result", "result.json: the worker's last word on one attempt");
  static void fields(auto& field, CellResult& result) {
    field("cell_id", result.cell_id, rule::not_empty);
    field("nonce", result.nonce, rule::not_empty);
    field("rank", result.rank, rule::at_least(0).says("Which of the attempt's processes, from 0."));
    field("failure", result.failure, "null: all steps done.");
    field("workload_digest", result.workload_digest, rule::hex(32, true).says("Empty if the failure came first."));
    field("steps_completed", result.steps_completed, rule::at_least(0));
    field("chain", result.chain, rule::hex(32, true).says("After the last step."));
    field("trace_lines", result.trace_lines, rule::at_least(0));
    field("peak_rss_bytes", result.peak_rss_bytes, rule::at_least(0));
    field("peak_anonymous_bytes", result.peak_anonymous_bytes,
          rule::at_least(-1).says("Of the resident set what is no mapped file; -1: not measured."));
    field("peak_allocated_bytes", result.peak_allocated_bytes,
          rule::at_least(-1).says("Of the device; -1 on the CPU."));
    field("peak_reserved_bytes", result.peak_reserved_bytes, rule::at_least(-1));
    field("optimizer_state_bytes", result.optimizer_state_bytes,
          rule::at_least(-1).says("Of this rank, as allocated; -1: not measured."));
    field("model_state_peak_bytes", result.model_state_peak_bytes,
          rule::at_least(-1).says("Of this rank, parameters, gradients and optimizer state; -1: not measured."));
    field("model_state_device_peak_bytes", result.model_state_device_peak_bytes,
          rule::at_least(-1).says("Of model_state_peak_bytes what lies where the training runs; -1: not measured."));
    field("model_state_host_peak_bytes", result.model_state_host_peak_bytes,
          rule::at_least(-1).says("Of it what `offload` keeps on the host; -1: not measured."));
    field("start_to_first_step_ns", result.start_to_first_step_ns, rule::at_least(0));
    field("knobs_resolved", result.knobs_resolved,
          "What each knob came to; differs from the request where the stack could not.");
    field("fingerprint", result.fingerprint);
    field.optional("measurements", result.measurements,
                   rule::not_empty_list.says("Of a probe, or of the products timed after a training."));
    field.optional("checkpoints", result.checkpoints);
    field.optional("data", result.data);
    field.optional("weights", result.weights);
    field.optional("model_flops", result.model_flops);
    field.optional("weight_change_rel", result.weight_change_rel,
                   "L2 distance of all trained weights from their initial values, as a share of their L2 norm.");
    field.optional("nccl", result.nccl);
    field.optional("implementations", result.implementations,
                   "Of a training; absent: it did not come to its end, was a replay, or its worker is older.");
    field.optional("turns_wait", result.turns_wait);
  }
};

nlohmann::json to_json(const CellResult& result);
nlohmann::json to_json(const Fingerprint& fingerprint);

// Throws ContractError naming the field.
CellResult result_from_json(const nlohmann::json& json);

}  // namespace reprobench
