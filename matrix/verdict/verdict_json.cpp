#include "matrix/contract/number.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/verdict/telemetry_json.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

json to_json(const CheckResult& check);
json to_json(const AttemptSummary& attempt);
json to_json(const CellVerdict& cell);
json to_json(const DimensionSummary& summary);
json to_json(const StackEnvironment& environment);

json optional_number(const std::optional<double>& value) { return value ? json_number(*value) : json(nullptr); }

json to_json(const Divergence& divergence) {
  return {{"step", divergence.step},
          {"tensor", divergence.tensor},
          {"role", divergence.role},
          {"against", divergence.against},
          {"measured_digest", divergence.measured_digest},
          {"expected_digest", divergence.expected_digest}};
}

json to_json(const CheckResult& check) {
  json object = {{"metric", check.metric},
                 {"dimension", to_string(check.dimension)},
                 {"unit", check.unit},
                 {"better", check.better == Better::lower ? "lower" : "higher"},
                 {"gate", check.gate == Gate::armed ? "armed" : "record_only"},
                 {"status", to_string(check.status)},
                 {"reason", check.reason},
                 {"sentence", check.sentence},
                 {"measured", optional_number(check.measured)},
                 {"reference", optional_number(check.reference)},
                 {"ratio", optional_number(check.ratio)},
                 {"ratio_low", optional_number(check.ratio_low)},
                 {"ratio_high", optional_number(check.ratio_high)},
                 {"noise_rel", optional_number(check.noise_rel)},
                 {"samples", check.samples},
                 {"bound", check.bound},
                 {"limit", json_number(check.limit)},
                 {"origin", check.origin},
                 {"margin_rel", optional_number(check.margin_rel)},
                 {"gain", check.gain},
                 {"divergence", check.divergence ? to_json(*check.divergence) : json(nullptr)}};
  if (!check.of.empty()) object["of"] = check.of;
  if (!check.gate_origin.empty()) object["gate_origin"] = check.gate_origin;
  if (check.repeat) object["repeat"] = *check.repeat;
  return object;
}

json to_json(const AttemptSummary& attempt) {
  return {{"repeat", attempt.repeat},
          {"attempt", attempt.attempt},
          {"end", to_string(attempt.end)},
          {"detail", attempt.detail},
          {"folder", attempt.folder},
          {"chain", attempt.chain},
          {"injected", attempt.injected},
          {"telemetry", attempt.telemetry ? reprobench::to_json(*attempt.telemetry) : json(nullptr)}};
}

template <class T>
json list_of(const std::vector<T>& items) {
  json list = json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

json measurements_json(const CellVerdict& cell) {
  json list = json::array();
  for (const auto& [repeat, measurements] : cell.measurements) {
    for (const ProbeMeasurement& measurement : measurements) {
      list.push_back(to_json(measurement));
      list.back()["repeat"] = repeat;
    }
  }
  return list;
}

json to_json(const CellVerdict& cell) {
  json object = {{"cell_id", cell.cell_id},
                 {"slug", cell.slug},
                 {"coordinates", cell.coordinates},
                 {"outcome", to_string(cell.outcome)},
                 {"reason", cell.reason},
                 {"sentence", cell.sentence},
                 {"required", cell.required},
                 {"reference_cell_id", cell.reference_cell_id ? json(*cell.reference_cell_id) : json(nullptr)},
                 {"attempts", list_of(cell.attempts)},
                 {"checks", list_of(cell.checks)},
                 {"notes", cell.notes},
                 {"workload_digest", cell.workload_digest},
                 {"chain", cell.chain},
                 {"reproduce", cell.reproduce}};
  if (!cell.log_folder.empty()) object["log_folder"] = cell.log_folder;
  if (!cell.next.empty()) object["next"] = cell.next;
  if (!cell.measurements.empty()) object["measurements"] = measurements_json(cell);
  return object;
}

json to_json(const DimensionSummary& summary) {
  return {{"dimension", to_string(summary.dimension)}, {"word", summary.word}, {"sentence", summary.sentence}};
}

json to_json(const StackEnvironment& environment) {
  return {{"stack", environment.stack},
          {"declared", environment.declared},
          {"fingerprint", environment.fingerprint ? reprobench::to_json(*environment.fingerprint) : json(nullptr)},
          {"findings", environment.findings}};
}

}  // namespace

json to_json(const RunVerdict& verdict) {
  json object = document("verdict");
  object["info"] = to_json(verdict.info);
  object["matrix"] = verdict.matrix;
  object["matrix_file"] = verdict.matrix_file;
  object["word"] = verdict.word;
  object["exit_code"] = static_cast<int>(verdict.exit_code);
  object["sentence"] = verdict.sentence;
  object["totals"] = verdict.totals;
  object["dimensions"] = list_of(verdict.dimensions);
  if (!verdict.request.selected_by.empty()) object["selected_by"] = verdict.request.selected_by;
  if (!verdict.request.changed_by.empty()) object["changed_by"] = verdict.request.changed_by;
  if (!verdict.planted.empty()) object["planted"] = verdict.planted;
  object["cells"] = list_of(verdict.cells);
  object["environments"] = list_of(verdict.environments);
  return object;
}

}  // namespace reprobench
