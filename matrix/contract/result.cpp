#include "matrix/contract/result.hpp"

#include "matrix/contract/json_field.hpp"

namespace reprobench {

using nlohmann::json;

json to_json(const Fingerprint& fingerprint) {
  json components = json::array();
  for (const ComponentVersion& component : fingerprint.components) {
    components.push_back({{"name", component.name},
                          {"compiled", component.compiled},
                          {"loaded", component.loaded},
                          {"path", component.path}});
  }
  json libraries = json::array();
  for (const MappedLibrary& library : fingerprint.libraries) {
    libraries.push_back({{"path", library.path}, {"build_id", library.build_id}});
  }
  json object = {{"components", std::move(components)},
                 {"libraries", std::move(libraries)},
                 {"compiler", fingerprint.compiler},
                 {"cxx11_abi", fingerprint.cxx11_abi},
                 {"cpu_model", fingerprint.cpu_model},
                 {"cpu_capability", fingerprint.cpu_capability},
                 {"threads", fingerprint.threads},
                 {"interop_threads", fingerprint.interop_threads},
                 {"blas_provider", fingerprint.blas_provider},
                 {"device_name", fingerprint.device_name},
                 {"flags", fingerprint.flags},
                 {"environment", fingerprint.environment}};
  if (fingerprint.device) object["device"] = to_json(*fingerprint.device);
  return object;
}

Fingerprint fingerprint_from_json(const json& object) {
  Fingerprint fingerprint;
  for (const json& component : required<json>("result", object, "components")) {
    fingerprint.components.push_back(
        {required<std::string>("result", component, "name"), required<std::string>("result", component, "compiled"),
         required<std::string>("result", component, "loaded"), required<std::string>("result", component, "path")});
  }
  for (const json& library : required<json>("result", object, "libraries")) {
    fingerprint.libraries.push_back(
        {required<std::string>("result", library, "path"), required<std::string>("result", library, "build_id")});
  }
  fingerprint.compiler = required<std::string>("result", object, "compiler");
  fingerprint.cxx11_abi = required<int>("result", object, "cxx11_abi");
  fingerprint.cpu_model = required<std::string>("result", object, "cpu_model");
  fingerprint.cpu_capability = required<std::string>("result", object, "cpu_capability");
  fingerprint.threads = required<int>("result", object, "threads");
  fingerprint.interop_threads = required<int>("result", object, "interop_threads");
  fingerprint.blas_provider = required<std::string>("result", object, "blas_provider");
  fingerprint.device_name = required<std::string>("result", object, "device_name");
  const auto device = object.find("device");
  if (device != object.end()) fingerprint.device = device_facts_from_json(*device);
  fingerprint.flags = required<std::map<std::string, std::string>>("result", object, "flags");
  fingerprint.environment = required<std::map<std::string, std::string>>("result", object, "environment");
  return fingerprint;
}

json to_json(const CellResult& result) {
  json object = document("result");
  object["cell_id"] = result.cell_id;
  object["nonce"] = result.nonce;
  object["rank"] = result.rank;
  object["failure"] =
      result.failure
          ? json{{"cause", result.failure->cause}, {"detail", result.failure->detail}, {"step", result.failure->step}}
          : json(nullptr);
  object["workload_digest"] = result.workload_digest;
  object["steps_completed"] = result.steps_completed;
  object["chain"] = result.chain;
  object["trace_lines"] = result.trace_lines;
  object["peak_rss_bytes"] = result.peak_rss_bytes;
  object["peak_allocated_bytes"] = result.peak_allocated_bytes;
  object["peak_reserved_bytes"] = result.peak_reserved_bytes;
  object["start_to_first_step_ns"] = result.start_to_first_step_ns;
  object["knobs_resolved"] = result.knobs_resolved;
  object["fingerprint"] = to_json(result.fingerprint);
  for (const ProbeMeasurement& measurement : result.measurements) {
    object["measurements"].push_back(to_json(measurement));
  }
  return object;
}

CellResult result_from_json(const json& object) {
  require_document(object, "result");
  CellResult result;
  result.cell_id = required<std::string>("result", object, "cell_id");
  result.nonce = required<std::string>("result", object, "nonce");
  result.rank = optional_field<int>("result", object, "rank").value_or(0);
  const json failure = required<json>("result", object, "failure");
  if (!failure.is_null()) {
    result.failure = WorkerFailure{required<std::string>("result", failure, "cause"),
                                   required<std::string>("result", failure, "detail"),
                                   required<std::int64_t>("result", failure, "step")};
  }
  result.workload_digest = required<std::string>("result", object, "workload_digest");
  result.steps_completed = required<std::int64_t>("result", object, "steps_completed");
  result.chain = required<std::string>("result", object, "chain");
  result.trace_lines = required<std::int64_t>("result", object, "trace_lines");
  result.peak_rss_bytes = required<std::int64_t>("result", object, "peak_rss_bytes");
  result.peak_allocated_bytes = required<std::int64_t>("result", object, "peak_allocated_bytes");
  result.peak_reserved_bytes = required<std::int64_t>("result", object, "peak_reserved_bytes");
  result.start_to_first_step_ns = required<std::int64_t>("result", object, "start_to_first_step_ns");
  result.knobs_resolved = required<KnobValues>("result", object, "knobs_resolved");
  result.fingerprint = fingerprint_from_json(required<json>("result", object, "fingerprint"));
  if (object.contains("measurements")) {
    for (const json& measurement : required<std::vector<json>>("result", object, "measurements")) {
      result.measurements.push_back(probe_measurement_from_json(measurement));
    }
  }
  return result;
}

}  // namespace reprobench
