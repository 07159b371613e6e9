#include <algorithm>

#include "matrix/contract/json_field.hpp"
#include "matrix/contract/number.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kBoundKinds[] = {"max", "min", "equal", "max_regression"};

json to_json(const TimeLimits& limits) {
  return {{"first_heartbeat_ms", limits.first_heartbeat.count()},
          {"heartbeat_gap_ms", limits.heartbeat_gap.count()},
          {"total_ms", limits.total.count()},
          {"grace_ms", limits.grace.count()}};
}

TimeLimits limits_from(const json& object) {
  const auto milliseconds = [&](const char* key) {
    return std::chrono::milliseconds(required<std::int64_t>("plan", object, key));
  };
  return {milliseconds("first_heartbeat_ms"), milliseconds("heartbeat_gap_ms"), milliseconds("total_ms"),
          milliseconds("grace_ms")};
}

json to_json(const CellThreshold& threshold) {
  const Bound& bound = threshold.bound;
  return {{"metric", threshold.metric},
          {"gate", threshold.gate == Gate::armed ? "armed" : "record_only"},
          {"bound",
           {{"kind", kBoundKinds[static_cast<int>(bound.kind)]},
            {"limit", json_number(bound.limit)},
            {"text", bound.text},
            {"vs_reference", bound.vs_reference}}},
          {"origin", to_string(threshold.mark)}};
}

// "suites/definitions/throughput.yaml:14:5"; the file's name may hold colons itself.
Mark mark_from(const std::string& text) {
  const auto column = text.rfind(':');
  const auto line = column == std::string::npos ? column : text.rfind(':', column - 1);
  if (line == std::string::npos) return {text, 0, 0};
  return {text.substr(0, line), std::atoi(text.c_str() + line + 1), std::atoi(text.c_str() + column + 1)};
}

CellThreshold threshold_from(const json& object) {
  CellThreshold threshold;
  threshold.metric = required<std::string>("plan", object, "metric");
  threshold.gate = required<std::string>("plan", object, "gate") == "armed" ? Gate::armed : Gate::record_only;
  const json bound = required<json>("plan", object, "bound");
  const auto kind = required<std::string>("plan", bound, "kind");
  const auto* found = std::find(std::begin(kBoundKinds), std::end(kBoundKinds), kind);
  if (found == std::end(kBoundKinds)) throw ContractError("plan: `kind` of a bound is `" + kind + "`");
  threshold.bound.kind = static_cast<Bound::Kind>(found - kBoundKinds);
  const auto limit = number_from_json(required<json>("plan", bound, "limit"));
  if (!limit) throw ContractError("plan: `limit` of a bound is not a number");
  threshold.bound.limit = *limit;
  threshold.bound.text = required<std::string>("plan", bound, "text");
  threshold.bound.vs_reference = required<bool>("plan", bound, "vs_reference");
  threshold.mark = mark_from(required<std::string>("plan", object, "origin"));
  return threshold;
}

json to_json(const PlannedCell& planned) {
  const Cell& cell = planned.cell;
  json thresholds = json::array();
  for (const CellThreshold& threshold : cell.thresholds) thresholds.push_back(to_json(threshold));
  json injections = json::array();
  for (const auto& [repeat, injection] : cell.injections) {
    injections.push_back({{"repeat", repeat}, {"injection", reprobench::to_json(injection)}});
  }
  return {{"cell_id", cell.request.cell_id},
          {"slug", cell.slug},
          {"coordinates", cell.coordinates},
          {"request", canonical_request(cell.request)},
          {"reference_cell_id", cell.reference_cell_id ? json(*cell.reference_cell_id) : json(nullptr)},
          {"required", cell.required},
          {"repeat", cell.repeat},
          {"poison_last_repeat", cell.poison_last_repeat},
          {"exclusive", cell.exclusive},
          {"limits", to_json(cell.limits)},
          {"thresholds", std::move(thresholds)},
          {"injections", std::move(injections)},
          {"skip", planned.skip ? json{{"rule", planned.skip->rule}, {"reason", planned.skip->reason}} : json(nullptr)},
          {"notes", planned.notes}};
}

PlannedCell planned_cell_from(const json& object) {
  PlannedCell planned;
  Cell& cell = planned.cell;
  cell.request = canonical_request_from_json(required<json>("plan", object, "request"));
  cell.request.cell_id = required<std::string>("plan", object, "cell_id");
  cell.slug = required<std::string>("plan", object, "slug");
  cell.coordinates = required<Coordinates>("plan", object, "coordinates");
  const json reference = required<json>("plan", object, "reference_cell_id");
  if (!reference.is_null()) cell.reference_cell_id = reference.get<std::string>();
  cell.required = required<bool>("plan", object, "required");
  cell.repeat = required<int>("plan", object, "repeat");
  cell.poison_last_repeat = required<bool>("plan", object, "poison_last_repeat");
  cell.exclusive = required<bool>("plan", object, "exclusive");
  cell.limits = limits_from(required<json>("plan", object, "limits"));
  for (const json& threshold : required<std::vector<json>>("plan", object, "thresholds")) {
    cell.thresholds.push_back(threshold_from(threshold));
  }
  for (const json& entry : required<std::vector<json>>("plan", object, "injections")) {
    cell.injections.emplace(required<int>("plan", entry, "repeat"),
                            injection_from_json(required<json>("plan", entry, "injection")));
  }
  const json skip = required<json>("plan", object, "skip");
  if (!skip.is_null()) {
    planned.skip = Skip{required<std::string>("plan", skip, "rule"), required<std::string>("plan", skip, "reason")};
  }
  planned.notes = required<std::vector<std::string>>("plan", object, "notes");
  return planned;
}

// Everything but the cells.
json head_of(const Plan& plan) {
  const auto skipped = std::count_if(plan.cells.begin(), plan.cells.end(),
                                     [](const PlannedCell& planned) { return planned.skip.has_value(); });
  json object = document("plan");
  object["matrix"] = plan.matrix;
  object["matrix_file"] = plan.matrix_file;
  object["host"] = to_json(plan.host);
  object["declared"] = plan.declared;
  object["totals"] = {{"planned", plan.cells.size()},
                      {"runnable", static_cast<std::ptrdiff_t>(plan.cells.size()) - skipped},
                      {"skipped", skipped}};
  return object;
}

}  // namespace

json to_json(const Plan& plan) {
  json object = head_of(plan);
  object["cells"] = json::array();
  for (const PlannedCell& planned : plan.cells) object["cells"].push_back(to_json(planned));
  return object;
}

void write_plan(const Plan& plan, const std::function<void(std::string_view)>& sink) {
  std::string head = head_of(plan).dump(1);
  head.erase(head.find_last_of('\n'));  // the closing brace comes after the cells
  sink(head + ",\n \"cells\": [");
  const char* separator = "\n  ";
  for (const PlannedCell& planned : plan.cells) {
    sink(separator + to_json(planned).dump());
    separator = ",\n  ";
  }
  sink("\n ]\n}\n");
}

Plan plan_from_json(const json& object) {
  require_document(object, "plan");
  Plan plan;
  plan.matrix = required<std::string>("plan", object, "matrix");
  plan.matrix_file = required<std::string>("plan", object, "matrix_file");
  plan.host = host_facts_from_json(required<json>("plan", object, "host"));
  plan.declared = required<decltype(plan.declared)>("plan", object, "declared");
  const auto cells = object.find("cells");
  if (cells == object.end() || !cells->is_array()) throw ContractError("plan: `cells` is not a list");
  for (const json& cell : *cells) plan.cells.push_back(planned_cell_from(cell));
  return plan;
}

}  // namespace reprobench
