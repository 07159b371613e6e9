#include "matrix/contract/request.hpp"

#include <algorithm>

#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/probe.hpp"

namespace reprobench {

constexpr InjectionKind kInjectionKinds[] = {{"weight_ulp", true},
                                             {"weight_nan", true},
                                             {"weight_huge", true},
                                             {"weight_sign", true},
                                             {"gradient_ulp", true},
                                             {"gradient_inf", true},
                                             {"moment_ulp", true},
                                             {"adam_epsilon", false},
                                             {"optimizer_momentum", false},
                                             {"skip_update", false},
                                             {"updates_stop", false},
                                             {"update_halved", false},
                                             {"weight_stuck", true},
                                             {"batch_stuck", false},
                                             {"targets_shifted", false},
                                             {"loader_slow", false},
                                             {"process_killed", false},
                                             {"process_stopped", false},
                                             {"stale_batch", false},
                                             {"wrong_batch", false},
                                             {"sample_repeated", false},
                                             {"sample_dropped", false},
                                             {"reduction_order", false},
                                             {"tf32", false},
                                             {"accumulate_16_bit", false},
                                             {"layer_norm_epsilon", false},
                                             {"gelu_scale", false},
                                             {"softmax_scale", false},
                                             {"order_and_decay", false},
                                             {"running_variance_biased", false},
                                             {"running_momentum", false},
                                             {"gelu_constant", false},
                                             {"gelu_written_out", false},
                                             {"attention_scale", false},
                                             {"cast_inserted", false},
                                             {"gelu_bias", false},
                                             {"norm_epsilon", false},
                                             {"attention_fused", false},
                                             {"adam_written_out", true},
                                             {"adam_epsilon_unscaled", true},
                                             {"atomic_add", true},
                                             {"offload_device_mismatch", true},
                                             {"offload_stale_parameter", true},
                                             {"parameters_kept_whole", false},
                                             {"bucket_late", false},
                                             {"bucket_order", false},
                                             {"replica_stale", false},
                                             {"replica_gradient_lost", false},
                                             {"result_bit", false, true},
                                             {"result_wrong", false, true},
                                             {"operation_slow", false, true},
                                             {"rank_killed", false, true},
                                             {"rank_stopped", false, true},
                                             {"collective_skipped", false, true},
                                             {"collective_shape", false, true},
                                             {"collective_dtype", false, true},
                                             {"collective_order", false, true},
                                             {"rendezvous_lost", false, true},
                                             {"operand_bit", false, true},
                                             {"resume_from_step_0", false, false, true},
                                             {"resume_without_optimizer_state", false, false, true},
                                             {"resume_without_buffers", false, false, true},
                                             {"resume_without_loss_scale", false, false, true},
                                             {"resume_without_data_position", false, false, true},
                                             {"resume_shard_misplaced", false, false, true}};

std::span<const InjectionKind> injection_kinds() { return kInjectionKinds; }

bool is_of_probe(const Injection& injection) {
  return std::ranges::any_of(kInjectionKinds,
                             [&](const InjectionKind& kind) { return kind.name == injection.kind && kind.of_probe; });
}

bool is_of_resuming(const Injection& injection) {
  return std::ranges::any_of(
      kInjectionKinds, [&](const InjectionKind& kind) { return kind.name == injection.kind && kind.of_resuming; });
}

KnobValues knobs_of_rank(const CellRequest& request) {
  KnobValues knobs = request.knobs;
  const std::int64_t sharers = request.world_size * setting_in<&Settings::replicas>(knobs);
  const std::int64_t threads = setting_in<&Settings::threads>(knobs);
  if (sharers > 1) set<&Settings::threads>(knobs, std::max<std::int64_t>(1, threads / sharers));
  return knobs;
}

std::string precision_text(const CellRequest& request) {
  return text_of<&Settings::precision>(setting_in<&Settings::precision>(request.knobs));
}

std::int64_t first_step_of(const CellRequest& request) {
  if (request.replay) return request.replay->first_step;
  return request.checkpoint ? request.checkpoint->resume_after + 1 : 1;
}

std::int64_t last_step_of(const CellRequest& request) {
  if (request.replay) return request.replay->last_step;
  const std::int64_t stop_after = request.checkpoint ? request.checkpoint->stop_after : 0;
  return stop_after > 0 ? stop_after : request.workload.steps;
}

std::int64_t micro_batches_of(const CellRequest& request) {
  return request.world_size * setting_in<&Settings::replicas>(request.knobs) *
         setting_in<&Settings::accumulate>(request.knobs);
}

bool measures_gemm_peak(const CellRequest& request) {
  return request.gemm_peak_samples > 0 && !request.workload.is_probe() && !request.replay && request.world_size == 1 &&
         setting_in<&Settings::replicas>(request.knobs) == 1;
}

int gpus_of_rank(const CellRequest& request) {
  if (request.device == "cpu") return 0;
  const ProbeInfo* probe = find_probe(request.workload.probe);
  return probe == nullptr ? 1 : probe->devices;
}

std::optional<std::int64_t> block_of(const CellRequest& request, std::int64_t step) {
  if (request.turn_steps <= 0) return std::nullopt;
  return (step - first_step_of(request)) / request.turn_steps;
}

nlohmann::json to_json(const WorkloadRequest& workload) { return written(workload); }
nlohmann::json to_json(const CellRequest& request) { return written(request); }
CellRequest request_from_json(const nlohmann::json& object) { return read_document<CellRequest>(object); }

nlohmann::json canonical_request(const CellRequest& request) {
  return written_fields([&](auto& field) { canonical_fields(field, const_cast<CellRequest&>(request)); });
}

CellRequest canonical_request_from_json(const nlohmann::json& object) {
  CellRequest request;
  read_fields_of(object, "request", [&](auto& field) { canonical_fields(field, request); });
  return request;
}

}  // namespace reprobench
