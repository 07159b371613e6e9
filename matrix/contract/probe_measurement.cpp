#include "matrix/contract/probe_measurement.hpp"

#include <algorithm>
#include <array>

#include "matrix/contract/json_field.hpp"
#include "matrix/contract/number.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kMeasurementName = "measurement";
constexpr std::array<std::string_view, 3> kMeasurementStatuses = {"measured", "wrong", "unsupported"};
static_assert(static_cast<std::size_t>(MeasurementStatus::unsupported) + 1 == kMeasurementStatuses.size());

[[noreturn]] void reject_measurement(const char* key, const char* what) {
  throw ContractError(std::string(kMeasurementName) + ": `" + key + "` " + what);
}

MeasurementStatus status_from(const std::string& word) {
  for (std::size_t i = 0; i < kMeasurementStatuses.size(); ++i) {
    if (kMeasurementStatuses[i] == word) return static_cast<MeasurementStatus>(i);
  }
  reject_measurement("status", "is none of `measured`, `wrong` and `unsupported`");
}

json number_or_null(const std::optional<double>& value) { return value ? json_number(*value) : json(nullptr); }

std::optional<double> number_or_none(const json& object, const char* key) {
  const json value = required<json>(kMeasurementName, object, key);
  if (value.is_null()) return std::nullopt;
  const auto number = number_from_json(value);
  if (!number) reject_measurement(key, "is not a number");
  return number;
}

std::vector<double> samples_from(const json& object) {
  std::vector<double> samples;
  for (const json& sample : required<std::vector<json>>(kMeasurementName, object, "samples")) {
    const auto value = number_from_json(sample);
    if (!value) reject_measurement("samples", "holds something that is not a number");
    samples.push_back(*value);
  }
  return samples;
}

json samples_json(const std::vector<double>& values) {
  json samples = json::array();
  for (const double value : values) samples.push_back(json_number(value));
  return samples;
}

std::optional<std::int64_t> time_or_none(const json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  const auto time_ns = required<std::int64_t>(kMeasurementName, object, key);
  if (time_ns < 0) reject_measurement(key, "is no time");
  return time_ns;
}

}  // namespace

std::string_view to_string(MeasurementStatus status) { return kMeasurementStatuses[static_cast<std::size_t>(status)]; }

bool MeasurementSelection::selects(const ProbeMeasurement& measurement) const {
  if (!operation.empty() && measurement.operation != operation) return false;
  return std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const auto found = measurement.labels.find(wanted.first);
    return found != measurement.labels.end() && found->second == wanted.second;
  });
}

std::string MeasurementSelection::text() const {
  std::string text = operation;
  for (const auto& [name, value] : labels) text += (text.empty() ? "" : " ") + name + "=" + value;
  if (!share_of.empty()) text += (text.empty() ? "to " : " to ") + share_of;
  return text;
}

json to_json(const ProbeProgress& progress) {
  return {{"kind", "progress"},
          {"operation", progress.operation},
          {"labels", progress.labels},
          {"samples", samples_json(progress.samples)}};
}

json to_json(const ProbeMeasurement& measurement) {
  json result = {{"operation", measurement.operation},
                 {"labels", measurement.labels},
                 {"unit", measurement.unit},
                 {"status", to_string(measurement.status)},
                 {"finding", measurement.finding},
                 {"error_rel", number_or_null(measurement.error_rel)},
                 {"error_bound_rel", number_or_null(measurement.error_bound_rel)},
                 {"results_compared", measurement.results_compared},
                 {"results_differing", measurement.results_differing},
                 {"samples", samples_json(measurement.samples)},
                 {"peak", number_or_null(measurement.peak)},
                 {"peak_source", measurement.peak_source},
                 {"algorithm", measurement.algorithm},
                 {"kernels", measurement.kernels}};
  if (measurement.timed_from_ns) result["timed_from_ns"] = *measurement.timed_from_ns;
  if (measurement.timed_to_ns) result["timed_to_ns"] = *measurement.timed_to_ns;
  return result;
}

ProbeMeasurement probe_measurement_from_json(const json& object) {
  ProbeMeasurement measurement;
  measurement.operation = required<std::string>(kMeasurementName, object, "operation");
  measurement.labels = required<std::map<std::string, std::string>>(kMeasurementName, object, "labels");
  measurement.unit = required<std::string>(kMeasurementName, object, "unit");
  measurement.status = status_from(required<std::string>(kMeasurementName, object, "status"));
  measurement.finding = required<std::string>(kMeasurementName, object, "finding");
  measurement.error_rel = number_or_none(object, "error_rel");
  measurement.error_bound_rel = number_or_none(object, "error_bound_rel");
  measurement.results_compared = required<std::int64_t>(kMeasurementName, object, "results_compared");
  measurement.results_differing = required<std::int64_t>(kMeasurementName, object, "results_differing");
  measurement.samples = samples_from(object);
  measurement.timed_from_ns = time_or_none(object, "timed_from_ns");
  measurement.timed_to_ns = time_or_none(object, "timed_to_ns");
  const bool has_span = measurement.timed_from_ns && measurement.timed_to_ns;
  if (measurement.timed_from_ns.has_value() != measurement.timed_to_ns.has_value() ||
      (has_span && *measurement.timed_to_ns < *measurement.timed_from_ns)) {
    reject_measurement("timed_to_ns", "and `timed_from_ns` are no span of time");
  }
  measurement.peak = number_or_none(object, "peak");
  measurement.peak_source = required<std::string>(kMeasurementName, object, "peak_source");
  measurement.algorithm = required<std::string>(kMeasurementName, object, "algorithm");
  measurement.kernels = required<std::vector<std::string>>(kMeasurementName, object, "kernels");
  if (measurement.status == MeasurementStatus::measured && measurement.samples.empty()) {
    reject_measurement("samples", "is empty, though the status is `measured`");
  }
  if (measurement.status != MeasurementStatus::measured && !measurement.samples.empty()) {
    reject_measurement("samples", "holds times of a result that was not right");
  }
  return measurement;
}

json to_json(const MeasurementSelection& selection) {
  return {{"operation", selection.operation}, {"labels", selection.labels}, {"share_of", selection.share_of}};
}

MeasurementSelection measurement_selection_from_json(const json& object) {
  return {required<std::string>("selection", object, "operation"),
          required<std::map<std::string, std::string>>("selection", object, "labels"),
          required<std::string>("selection", object, "share_of")};
}

}  // namespace reprobench
