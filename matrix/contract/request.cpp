#include "matrix/contract/request.hpp"

#include <algorithm>

#include "matrix/contract/json_field.hpp"

namespace reprobench {

using nlohmann::json;

std::string_view to_string(TraceLevel level) { return level == TraceLevel::tensor ? "tensor" : "step"; }

std::optional<TraceLevel> trace_level_from(std::string_view word) {
  if (word == "step") return TraceLevel::step;
  if (word == "tensor") return TraceLevel::tensor;
  return std::nullopt;
}

constexpr InjectionKind kInjectionKinds[] = {{"weight_ulp", true},          {"weight_nan", true},
                                             {"weight_huge", true},         {"weight_sign", true},
                                             {"gradient_ulp", true},        {"moment_ulp", true},
                                             {"adam_epsilon", false},       {"skip_update", false},
                                             {"stale_batch", false},        {"wrong_batch", false},
                                             {"sample_repeated", false},    {"sample_dropped", false},
                                             {"reduction_order", false},    {"tf32", false},
                                             {"accumulate_16_bit", false},  {"layer_norm_epsilon", false},
                                             {"gelu_scale", false},         {"softmax_scale", false},
                                             {"atomic_add", true},          {"result_bit", false, true},
                                             {"result_wrong", false, true}, {"operation_slow", false, true}};

std::span<const InjectionKind> injection_kinds() { return kInjectionKinds; }

bool is_of_probe(const Injection& injection) {
  return std::ranges::any_of(kInjectionKinds,
                             [&](const InjectionKind& kind) { return kind.name == injection.kind && kind.of_probe; });
}

json to_json(const Injection& injection) {
  return {
      {"kind", injection.kind}, {"step", injection.step}, {"tensor", injection.tensor}, {"element", injection.element}};
}

Injection injection_from_json(const json& object) {
  return {required<std::string>("request", object, "kind"), required<std::int64_t>("request", object, "step"),
          required<std::string>("request", object, "tensor"), required<std::int64_t>("request", object, "element")};
}

std::int64_t first_step_of(const CellRequest& request) { return request.replay ? request.replay->first_step : 1; }

std::int64_t last_step_of(const CellRequest& request) {
  return request.replay ? request.replay->last_step : request.workload.steps;
}

std::optional<std::int64_t> block_of(const CellRequest& request, std::int64_t step) {
  if (request.turn_steps <= 0) return std::nullopt;
  return (step - first_step_of(request)) / request.turn_steps;
}

json to_json(const WorkloadRequest& workload) {
  if (workload.is_probe()) {
    return {{"probe", workload.probe}, {"preset", workload.preset}, {"samples", workload.samples}};
  }
  return {{"model", workload.model},
          {"preset", workload.preset},
          {"steps", workload.steps},
          {"batch_size", workload.batch_size}};
}

json canonical_request(const CellRequest& request) {
  return {{"suite", request.suite},           {"workload", to_json(request.workload)}, {"stack", request.stack},
          {"device", request.device},         {"world_size", request.world_size},      {"knobs", request.knobs},
          {"trace", to_string(request.trace)}};
}

json to_json(const CellRequest& request) {
  json result = document("request");
  result.update(canonical_request(request));
  result["cell_id"] = request.cell_id;
  result["nonce"] = request.nonce;
  result["rank"] = request.rank;
  result["repeat"] = request.repeat;
  result["attempt"] = request.attempt;
  result["poison_allocator"] = request.poison_allocator;
  result["inject"] = request.inject ? to_json(*request.inject) : json(nullptr);
  if (request.turn_steps > 0) result["turn_steps"] = request.turn_steps;
  if (request.replay) result["replay"] = to_json(*request.replay);
  if (request.peaks) result["peaks"] = to_json(*request.peaks);
  return result;
}

WorkloadRequest workload_request_from_json(const json& object) {
  WorkloadRequest workload;
  workload.preset = required<std::string>("request", object, "preset");
  if (object.contains("probe")) {
    workload.probe = required<std::string>("request", object, "probe");
    workload.samples = required<std::int64_t>("request", object, "samples");
    if (workload.probe.empty()) throw ContractError("request: `probe` is empty");
  } else {
    workload.model = required<std::string>("request", object, "model");
    workload.steps = required<std::int64_t>("request", object, "steps");
    workload.batch_size = required<std::int64_t>("request", object, "batch_size");
  }
  return workload;
}

CellRequest canonical_request_from_json(const json& object) {
  CellRequest request;
  request.suite = required<std::string>("request", object, "suite");
  request.workload = workload_request_from_json(required<json>("request", object, "workload"));
  request.stack = required<std::string>("request", object, "stack");
  request.device = required<std::string>("request", object, "device");
  request.world_size = required<int>("request", object, "world_size");
  request.knobs = required<KnobValues>("request", object, "knobs");
  const auto level = trace_level_from(required<std::string>("request", object, "trace"));
  if (!level) throw ContractError("request: `trace` is neither `step` nor `tensor`");
  request.trace = *level;
  return request;
}

CellRequest request_from_json(const json& object) {
  require_document(object, "request");
  CellRequest request = canonical_request_from_json(object);
  request.cell_id = required<std::string>("request", object, "cell_id");
  request.nonce = required<std::string>("request", object, "nonce");
  request.rank = optional_field<int>("request", object, "rank").value_or(0);
  request.repeat = required<int>("request", object, "repeat");
  request.attempt = required<int>("request", object, "attempt");
  request.poison_allocator = required<bool>("request", object, "poison_allocator");
  request.turn_steps = optional_field<std::int64_t>("request", object, "turn_steps").value_or(0);
  const json inject = required<json>("request", object, "inject");
  if (!inject.is_null()) request.inject = injection_from_json(inject);
  const auto replay = object.find("replay");
  if (replay != object.end()) request.replay = replay_from_json(*replay);
  const auto peaks = object.find("peaks");
  if (peaks != object.end()) request.peaks = device_peaks_from_json(*peaks);
  return request;
}

}  // namespace reprobench
