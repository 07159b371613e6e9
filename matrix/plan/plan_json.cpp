#include "matrix/plan/plan_json.hpp"

#include <algorithm>
#include <charconv>

#include "matrix/contract/json_field.hpp"
#include "matrix/contract/number.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kDocument = "plan";

struct BoundWord {
  Bound::Kind kind;
  const char* word;
};
constexpr BoundWord kBoundWords[] = {{Bound::Kind::max, "max"},
                                     {Bound::Kind::min, "min"},
                                     {Bound::Kind::equal, "equal"},
                                     {Bound::Kind::max_regression, "max_regression"}};

const char* word_of(Bound::Kind kind) {
  for (const BoundWord& row : kBoundWords) {
    if (row.kind == kind) return row.word;
  }
  throw ContractError("plan: a bound has no kind");
}

Bound::Kind bound_kind_from(const std::string& word) {
  for (const BoundWord& row : kBoundWords) {
    if (word == row.word) return row.kind;
  }
  throw ContractError("plan: `kind` is `" + word + "`");
}

Gate gate_from(const std::string& word) {
  if (word == "armed") return Gate::armed;
  if (word == "record_only") return Gate::record_only;
  throw ContractError("plan: `gate` is `" + word + "`");
}

// "file:line:col"; a file name may hold colons itself.
Mark mark_from(const std::string& text) {
  const std::size_t column_at = text.rfind(':');
  const std::size_t line_at =
      column_at == std::string::npos || column_at == 0 ? std::string::npos : text.rfind(':', column_at - 1);
  Mark mark;
  if (line_at != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto line = std::from_chars(text.data() + line_at + 1, end, mark.line);
    const auto column = std::from_chars(text.data() + column_at + 1, end, mark.column);
    if (line.ptr == text.data() + column_at && column.ptr == end) {
      mark.file = text.substr(0, line_at);
      return mark;
    }
  }
  return {text, 0, 0};
}

json limits_json(const TimeLimits& limits) {
  return {{"first_heartbeat_ms", limits.first_heartbeat.count()},
          {"heartbeat_gap_ms", limits.heartbeat_gap.count()},
          {"total_ms", limits.total.count()},
          {"grace_ms", limits.grace.count()}};
}

TimeLimits limits_from(const json& object) {
  const auto field = [&](const char* key) {
    return std::chrono::milliseconds(required<std::int64_t>(kDocument, object, key));
  };
  return {field("first_heartbeat_ms"), field("heartbeat_gap_ms"), field("total_ms"), field("grace_ms")};
}

json threshold_json(const CellThreshold& threshold) {
  return {{"metric", threshold.metric},
          {"gate", threshold.gate == Gate::armed ? "armed" : "record_only"},
          {"bound",
           {{"kind", word_of(threshold.bound.kind)},
            {"limit", json_number(threshold.bound.limit)},
            {"text", threshold.bound.text},
            {"vs_reference", threshold.bound.vs_reference}}},
          {"origin", to_string(threshold.mark)}};
}

CellThreshold threshold_from(const json& object) {
  const json bound = required<json>(kDocument, object, "bound");
  const auto limit = number_from_json(required<json>(kDocument, bound, "limit"));
  if (!limit) throw ContractError("plan: `limit` is not a number");
  return {required<std::string>(kDocument, object, "metric"),
          gate_from(required<std::string>(kDocument, object, "gate")),
          {bound_kind_from(required<std::string>(kDocument, bound, "kind")), *limit,
           required<std::string>(kDocument, bound, "text"), required<bool>(kDocument, bound, "vs_reference")},
          mark_from(required<std::string>(kDocument, object, "origin"))};
}

json injections_json(const std::map<int, Injection>& injections) {
  json list = json::array();
  for (const auto& [repeat, injection] : injections) {
    list.push_back({{"repeat", repeat}, {"injection", to_json(injection)}});
  }
  return list;
}

json header_json(const Plan& plan) {
  const auto skipped = std::count_if(plan.cells.begin(), plan.cells.end(),
                                     [](const PlannedCell& cell) { return cell.skip.has_value(); });
  const auto planned = static_cast<std::ptrdiff_t>(plan.cells.size());
  json object = document(kDocument);
  object["matrix"] = plan.matrix;
  object["matrix_file"] = plan.matrix_file;
  object["host"] = to_json(plan.host);
  object["declared"] = plan.declared;
  object["totals"] = {{"planned", planned}, {"runnable", planned - skipped}, {"skipped", skipped}};
  return object;
}

}  // namespace

json to_json(const PlannedCell& planned) {
  const Cell& cell = planned.cell;
  json thresholds = json::array();
  for (const CellThreshold& threshold : cell.thresholds) thresholds.push_back(threshold_json(threshold));
  json object = {{"cell_id", cell.request.cell_id},
                 {"slug", cell.slug},
                 {"coordinates", cell.coordinates},
                 {"request", canonical_request(cell.request)},
                 {"reference_cell_id", nullptr},
                 {"required", cell.required},
                 {"repeat", cell.repeat},
                 {"poison_last_repeat", cell.poison_last_repeat},
                 {"exclusive", cell.exclusive},
                 {"limits", limits_json(cell.limits)},
                 {"thresholds", std::move(thresholds)},
                 {"injections", injections_json(cell.injections)},
                 {"skip", nullptr},
                 {"notes", planned.notes}};
  if (cell.reference_cell_id) object["reference_cell_id"] = *cell.reference_cell_id;
  if (planned.skip) object["skip"] = {{"rule", planned.skip->rule}, {"reason", planned.skip->reason}};
  return object;
}

PlannedCell planned_cell_from_json(const json& object) {
  PlannedCell planned;
  Cell& cell = planned.cell;
  cell.request = canonical_request_from_json(required<json>(kDocument, object, "request"));
  cell.request.cell_id = required<std::string>(kDocument, object, "cell_id");
  cell.slug = required<std::string>(kDocument, object, "slug");
  cell.coordinates = required<Coordinates>(kDocument, object, "coordinates");
  const json reference = required<json>(kDocument, object, "reference_cell_id");
  if (!reference.is_null()) cell.reference_cell_id = required<std::string>(kDocument, object, "reference_cell_id");
  cell.required = required<bool>(kDocument, object, "required");
  cell.repeat = required<int>(kDocument, object, "repeat");
  cell.poison_last_repeat = required<bool>(kDocument, object, "poison_last_repeat");
  cell.exclusive = required<bool>(kDocument, object, "exclusive");
  cell.limits = limits_from(required<json>(kDocument, object, "limits"));
  for (const json& threshold : required<json>(kDocument, object, "thresholds")) {
    cell.thresholds.push_back(threshold_from(threshold));
  }
  for (const json& entry : required<json>(kDocument, object, "injections")) {
    cell.injections[required<int>(kDocument, entry, "repeat")] =
        injection_from_json(required<json>(kDocument, entry, "injection"));
  }
  const json skip = required<json>(kDocument, object, "skip");
  if (!skip.is_null()) {
    planned.skip =
        Skip{required<std::string>(kDocument, skip, "rule"), required<std::string>(kDocument, skip, "reason")};
  }
  planned.notes = required<std::vector<std::string>>(kDocument, object, "notes");
  return planned;
}

json to_json(const Plan& plan) {
  json object = header_json(plan);
  json& cells = object["cells"] = json::array();
  for (const PlannedCell& planned : plan.cells) cells.push_back(to_json(planned));
  return object;
}

void write_plan(const Plan& plan, const std::function<void(std::string_view)>& sink) {
  std::string header = header_json(plan).dump();
  header.pop_back();  // its closing brace comes after the cells
  sink(header + ",\"cells\":[");
  std::string line;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    line = i == 0 ? "\n" : ",\n";
    line += to_json(plan.cells[i]).dump();
    sink(line);
  }
  sink("\n]}\n");
}

Plan plan_from_json(const json& object) {
  require_document(object, kDocument);
  Plan plan;
  plan.matrix = required<std::string>(kDocument, object, "matrix");
  plan.matrix_file = required<std::string>(kDocument, object, "matrix_file");
  plan.host = host_facts_from_json(required<json>(kDocument, object, "host"));
  plan.declared = required<decltype(plan.declared)>(kDocument, object, "declared");
  const auto cells = object.find("cells");
  if (cells == object.end() || !cells->is_array()) throw ContractError("plan: `cells` is missing");
  plan.cells.reserve(cells->size());
  for (const json& cell : *cells) plan.cells.push_back(planned_cell_from_json(cell));
  return plan;
}

}  // namespace reprobench
