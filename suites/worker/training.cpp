#include "suites/worker/training.hpp"

#include <utility>

#include <c10/core/Device.h>

#include "suites/worker/data/own_file.hpp"
#include "suites/worker/gemm_peak.hpp"
#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/record/workload_digest.hpp"
#include "suites/worker/request_checks.hpp"
#include "suites/worker/stack_probe.hpp"

namespace reprobench {
namespace {

std::optional<std::string> own_data_of(const WorkloadRequest& workload) {
  if (workload.data_sha256.empty()) return std::nullopt;
  return read_own_file(workload.data_file, workload.data_sha256);
}

std::optional<OwnWeights> own_weights_of(const WorkloadRequest& workload, const Model& model, const ModelPreset& preset,
                                         std::span<const Model* const> all) {
  if (workload.weights_sha256.empty()) return std::nullopt;
  return OwnWeights(workload, model, preset, all);
}

// What was read of the user's data is on record before a fault can be refused.
BatchSource& with_data_noted(BatchSource& batches, const TrainingPlan& plan, CellResult& result) {
  if (!plan.own_data) return batches;
  if (const auto counts = batches.record_counts()) {
    result.data = DataUse{counts->records, counts->samples, counts->cut};
  }
  return batches;
}

// The digest is on record before ranks meet.
Digest noted_workload_digest(const CellRequest& request, const TrainingPlan& plan, const TrainState& state,
                             BatchSource& batches, CellResult& result) {
  const Digest digest = workload_digest(plan.model, plan.preset, request.workload, plan.settings, state, batches);
  result.workload_digest = to_hex(digest);
  return digest;
}

TraceHeader header_of(const CellRequest& request, const CellResult& result, const Checkpoints& checkpoints) {
  return {request.cell_id, request.nonce,          result.workload_digest, request.trace, {},
          request.rank,    loaded_torch_version(), checkpoints.resumed()};
}

}  // namespace

TrainingPlan plan_training(const CellRequest& request, CellResult& result, OpenDevice open,
                           const WorkloadTables& tables) {
  const KnobValues knobs = knobs_of_rank(request);
  result.knobs_resolved = apply_knobs(knobs);
  check_request(request);
  const Settings settings = settings_of(knobs);
  const Layout layout = layout_of(request, settings);
  const Model& model = model_named(tables.models, request.workload.model);
  ModelPreset preset = with_schedule(preset_named(model, request.workload.preset), settings);
  std::unique_ptr<ComputeDevice> device = open(request.device, device_options_of(settings));
  if (device->records_steps()) check_recorded_steps(request);
  result.fingerprint.device = fingerprint_of(*device);
  if (result.fingerprint.device) result.fingerprint.device_name = result.fingerprint.device->name;
  check_memory(model, preset, settings.precision, *device, layout.replicas);
  std::optional<std::string> own_data = own_data_of(request.workload);
  std::optional<OwnWeights> own_weights = own_weights_of(request.workload, model, preset, tables.models);
  if (own_weights) result.weights = own_weights->use();
  return {settings, layout, model, std::move(preset), std::move(device), std::move(own_data), std::move(own_weights)};
}

Training::Training(const CellRequest& asked, const std::filesystem::path& rank_folder,
                   const std::filesystem::path& data_folder, CellResult& told, OpenDevice open,
                   const WorkloadTables& tables)
    : request(asked),
      result(told),
      folder(rank_folder),
      plan(plan_training(request, result, open, tables)),
      state(plan.model, plan.preset, request.workload.steps, plan.settings.seed, plan.settings.precision,
            plan.device->where(), sharding_of(plan.layout, plan.settings),
            plan.own_weights ? &*plan.own_weights : nullptr, plan.settings.optimizer_layout, plan.settings.offload),
      scaler(plan.settings, state),
      batches(plan.model, plan.preset, tables.data_sets, data_folder, plan.settings.seed, request.workload.batch_size,
              plan.settings.precision, plan.device->where(), plan.layout,
              loader_settings_of(plan.settings, last_step_of(request)), plan.own_data),
      fault(request, state, with_data_noted(batches, plan, result)),
      workload(noted_workload_digest(request, plan, state, batches, result)),
      parallelism(tables.make_parallelism(plan.layout, plan.settings.overlap, state, request, folder)),
      checkpoints(request, workload, {plan.model, plan.preset, state, *parallelism, *plan.device}, result),
      trace(folder / "trace.jsonl", header_of(request, result, checkpoints)),
      replay(request, folder, plan.settings.seed, workload, state, fault.in_operators()),
      recorder(request.trace, request.workload.steps,
               request.replay ? replay.chain_before() : checkpoints.chain_before(), state, *parallelism, batches,
               *plan.device, trace),
      guard(state, plan.device->where(), plan.settings),
      turns(request, folder) {
  if (plan.device->records_steps()) state.keep_step_numbers_on_device();
  parallelism->begin();
  result.model_flops = model_flops_of(*this);
}

std::int64_t Training::first_step() const { return request.replay ? first_step_of(request) : checkpoints.first_step(); }

}  // namespace reprobench
