#include "matrix/contract/probe_measurement.hpp"

#include <algorithm>

#include "matrix/contract/document/reader.hpp"

namespace reprobench {

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

nlohmann::json to_json(const ProbeProgress& progress) { return written(progress); }
nlohmann::json to_json(const ProbeMeasurement& measurement) { return written(measurement); }
ProbeMeasurement probe_measurement_from_json(const nlohmann::json& object) {
  return read_document<ProbeMeasurement>(object);
}

}  // namespace reprobench
