#include "suites/worker/probes/probe.hpp"

#include <algorithm>
#include <memory>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/probe.hpp"
#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/stack_probe.hpp"
#include "suites/worker/worker_failure.hpp"

namespace reprobench {
namespace {

struct ProbeRow {
  std::string_view name;
  void (*run)(ProbeRun& run);
};
constexpr ProbeRow kProbeRows[] = {
    {"device_smoke", &probe_device_smoke},     {"device_memory", &probe_device_memory},
    {"device_compute", &probe_device_compute}, {"device_stress", &probe_device_stress},
    {"collectives", &probe_collectives},       {"operators", &probe_operators},
    {"device_peer", &probe_device_peer},       {"package", &probe_package},
};

// Changes whenever a probe does other work for the same request.
constexpr std::string_view kProbeShape = "probes 2";

const ProbeRow& probe_named(const WorkloadRequest& workload) {
  const auto row = std::ranges::find(kProbeRows, workload.probe, &ProbeRow::name);
  const ProbeInfo* info = find_probe(workload.probe);
  if (row == std::end(kProbeRows) || info == nullptr) {
    throw RunFailure("bad_request", "there is no probe `" + workload.probe + "`");
  }
  if (std::ranges::find(info->presets, workload.preset) == info->presets.end()) {
    throw RunFailure("bad_request", "probe `" + workload.probe + "` has no preset `" + workload.preset + "`");
  }
  return *row;
}

void check_probe_request(const CellRequest& request) {
  if (request.workload.samples < 1) throw RunFailure("bad_request", "`samples` is not positive");
  const ProbeInfo* info = find_probe(request.workload.probe);
  const bool is_of_ranks = info != nullptr && info->of_ranks;
  if (is_of_ranks != (request.world_size > 1)) {
    throw RunFailure("unsupported",
                     "`" + request.workload.probe + (is_of_ranks ? "` needs several ranks" : "` has one rank"));
  }
  if (info != nullptr && info->devices > 1 && request.device == "cpu") {
    throw RunFailure("unsupported",
                     "`" + request.workload.probe + "` measures between devices of one process, and a CPU has no peer");
  }
  if (request.replay) throw RunFailure("bad_request", "a probe has no steps to replay");
  if (request.inject && !is_of_probe(*request.inject)) {
    throw RunFailure("bad_request", "`" + request.inject->kind + "` is planted in trainings");
  }
}

// LibTorch fills new memory in deterministic mode, which would be timed as part of every operation that returns a new
// tensor. Filling makes no result more deterministic, so without a choice it is off.
KnobValues probe_knobs(const CellRequest& request) {
  KnobValues knobs = knobs_of_rank(request);
  if (setting_in<&Settings::deterministic_fill>(knobs) == PresetSwitch::of_preset) {
    set<&Settings::deterministic_fill>(knobs, PresetSwitch::off);
  }
  return knobs;
}

// Sizes differ between a CPU and a GPU, so the kind of device is part of the work.
Digest probe_digest(const CellRequest& request, std::uint64_t seed) {
  DigestBuilder builder;
  builder.append(kProbeShape).append(request.workload.probe).append(request.workload.preset);
  builder.append(static_cast<std::uint64_t>(request.workload.samples)).append(seed);
  if (request.world_size > 1) builder.append(static_cast<std::uint64_t>(request.world_size));
  for (const std::string& call : request.workload.calls) builder.append(call);
  if (!request.workload.tensors_sha256.empty()) builder.append(request.workload.tensors_sha256);
  if (!request.workload.package_sha256.empty()) builder.append(request.workload.package_sha256);
  return builder.append(request.device == "cpu" ? "cpu" : "gpu").finish();
}

// Two runs have one chain if and only if every measurement that digests what it computed made the same bits. Most do
// not: theirs are the workload's digest.
std::string chain_of(const CellResult& result) {
  DigestBuilder builder;
  builder.append(result.workload_digest);
  bool has_bits = false;
  for (const ProbeMeasurement& measurement : result.measurements) {
    if (!measurement.digest.empty()) builder.append(measurement.digest);
    has_bits = has_bits || measurement.call || !measurement.digest.empty();
    if (!measurement.call) continue;
    builder.append(measurement.call->inputs);
    for (const CallOutput& output : measurement.call->outputs) builder.append(output.digest);
  }
  return has_bits ? to_hex(builder.finish()) : result.workload_digest;
}

}  // namespace

void run_probe(const CellRequest& request, const std::filesystem::path& folder, CellResult& result,
               const std::filesystem::path& data_folder) {
  result.knobs_resolved = apply_knobs(probe_knobs(request));
  check_probe_request(request);
  const ProbeRow& row = probe_named(request.workload);
  const Settings settings = settings_of(request.knobs);
  result.workload_digest = to_hex(probe_digest(request, settings.seed));
  result.chain = result.workload_digest;
  const std::unique_ptr<ComputeDevice> device = open_device(request.device, device_options_of(settings));
  result.fingerprint.device = fingerprint_of(*device);
  if (result.fingerprint.device) result.fingerprint.device_name = result.fingerprint.device->name;
  TraceWriter trace(folder / "trace.jsonl");
  trace.add(to_json(TraceHeader{request.cell_id, request.nonce, result.workload_digest, request.trace,
                                trace.monotonic_us(), request.rank, loaded_torch_version()}));
  trace.write();
  const auto close = [&] {
    trace.write();
    result.trace_lines = trace.lines();
    const DeviceMemory memory = device->memory();
    result.peak_allocated_bytes = memory.peak_allocated_bytes;
    result.peak_reserved_bytes = memory.peak_reserved_bytes;
  };
  try {
    ProbeRun run(request, folder, *device, trace, result, data_folder);
    row.run(run);
    trace.add(to_json(TensorsRecord{0, true, {}}));
    result.chain = chain_of(result);
  } catch (...) {
    result.failure = failure_of(std::current_exception(), result.steps_completed);  // before the device is closed
    close();
    throw;
  }
  close();
}

}  // namespace reprobench
