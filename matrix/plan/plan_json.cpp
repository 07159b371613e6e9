#include "matrix/plan/plan_json.hpp"

#include <algorithm>
#include <charconv>

#include "matrix/contract/json_field.hpp"
#include "matrix/contract/number.hpp"
#include "matrix/plan/cell_id.hpp"
#include "matrix/plan/json_text.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kPlanDocument = "plan";
constexpr std::size_t kPartBytes = 64 << 10;

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

void write_limits(JsonText& out, const TimeLimits& limits) {
  out.open('{').key("first_heartbeat_ms").integer(limits.first_heartbeat.count());
  out.key("heartbeat_gap_ms").integer(limits.heartbeat_gap.count());
  out.key("total_ms").integer(limits.total.count());
  out.key("grace_ms").integer(limits.grace.count()).close('}');
}

TimeLimits limits_from(const json& object) {
  const auto field = [&](const char* key) {
    return std::chrono::milliseconds(required<std::int64_t>(kPlanDocument, object, key));
  };
  return {field("first_heartbeat_ms"), field("heartbeat_gap_ms"), field("total_ms"), field("grace_ms")};
}

void write_threshold(JsonText& out, const CellThreshold& threshold) {
  out.open('{').key("metric").string(threshold.metric);
  out.key("gate").string(threshold.gate == Gate::armed ? "armed" : "record_only");
  out.key("bound").open('{').key("kind").string(word_of(threshold.bound.kind));
  out.key("limit").raw(json_number(threshold.bound.limit).dump());
  out.key("text").string(threshold.bound.text);
  out.key("vs_reference").flag(threshold.bound.vs_reference).close('}');
  out.key("origin").string(to_string(threshold.mark));
  if (!threshold.of.empty()) out.key("of").raw(to_json(threshold.of).dump());
  if (!threshold.gate_mark.file.empty()) out.key("gate_origin").string(to_string(threshold.gate_mark));
  out.close('}');
}

CellThreshold threshold_from(const json& object) {
  const json bound = required<json>(kPlanDocument, object, "bound");
  const auto limit = number_from_json(required<json>(kPlanDocument, bound, "limit"));
  if (!limit) throw ContractError("plan: `limit` is not a number");
  return {
      required<std::string>(kPlanDocument, object, "metric"),
      gate_from(required<std::string>(kPlanDocument, object, "gate")),
      {bound_kind_from(required<std::string>(kPlanDocument, bound, "kind")), *limit,
       required<std::string>(kPlanDocument, bound, "text"), required<bool>(kPlanDocument, bound, "vs_reference")},
      mark_from(required<std::string>(kPlanDocument, object, "origin")),
      object.contains("of") ? measurement_selection_from_json(required<json>(kPlanDocument, object, "of"))
                            : MeasurementSelection{},
      object.contains("gate_origin") ? mark_from(required<std::string>(kPlanDocument, object, "gate_origin")) : Mark{}};
}

void write_injections(JsonText& out, const std::map<int, Injection>& injections) {
  out.open('[');
  for (const auto& [repeat, injection] : injections) {
    out.open('{').key("repeat").integer(repeat).key("injection").raw(to_json(injection).dump()).close('}');
  }
  out.close(']');
}

void write_cell(JsonText& out, const PlannedCell& planned) {
  const Cell& cell = planned.cell;
  out.open('{').key("cell_id").string(cell.request.cell_id);
  out.key("slug").string(cell.slug);
  out.key("coordinates").texts(cell.coordinates);
  out.key("request").raw(canonical_text(cell.request));
  if (cell.request.peaks) out.key("peaks").raw(to_json(*cell.request.peaks).dump());
  if (cell.request.turn_steps > 0) out.key("turn_steps").integer(cell.request.turn_steps);
  out.key("reference_cell_id");
  cell.reference_cell_id ? out.string(*cell.reference_cell_id) : out.null();
  out.key("required").flag(cell.required);
  out.key("repeat").integer(cell.repeat);
  out.key("poison_last_repeat").flag(cell.poison_last_repeat);
  out.key("exclusive").flag(cell.exclusive);
  out.key("limits");
  write_limits(out, cell.limits);
  out.key("thresholds").open('[');
  for (const CellThreshold& threshold : cell.thresholds) write_threshold(out, threshold);
  out.close(']').key("injections");
  write_injections(out, cell.injections);
  out.key("skip");
  if (planned.skip) {
    out.open('{').key("rule").string(planned.skip->rule).key("reason").string(planned.skip->reason).close('}');
  } else {
    out.null();
  }
  out.key("notes").open('[');
  for (const std::string& note : planned.notes) out.string(note);
  out.close(']').close('}');
}

json to_json(const PlanHost& host) {
  return {{"label", host.label}, {"runs", host.runs}, {"facts", reprobench::to_json(host.facts)}};
}

std::vector<PlanHost> hosts_from(const json& list) {
  std::vector<PlanHost> hosts;
  for (const json& host : list) {
    hosts.push_back({required<std::string>(kPlanDocument, host, "label"),
                     required<std::vector<std::string>>(kPlanDocument, host, "runs"),
                     host_facts_from_json(required<json>(kPlanDocument, host, "facts"))});
  }
  return hosts;
}

json to_json(const PlanRequest& request) {
  return {{"selected_by", request.selected_by},
          {"changed_by", request.changed_by},
          {"overrides", request.overrides},
          {"names_cells", request.names_cells}};
}

PlanRequest request_from(const json& object) {
  return {required<std::vector<std::string>>(kPlanDocument, object, "selected_by"),
          required<std::vector<std::string>>(kPlanDocument, object, "changed_by"),
          required<std::vector<std::string>>(kPlanDocument, object, "overrides"),
          required<bool>(kPlanDocument, object, "names_cells")};
}

json header_json(const Plan& plan) {
  const auto skipped = std::count_if(plan.cells.begin(), plan.cells.end(),
                                     [](const PlannedCell& cell) { return cell.skip.has_value(); });
  const auto planned = static_cast<std::ptrdiff_t>(plan.cells.size());
  json object = document(kPlanDocument);
  object["matrix"] = plan.matrix;
  object["matrix_file"] = plan.matrix_file;
  object["host"] = to_json(plan.host);
  for (const PlanHost& host : plan.hosts) object["hosts"].push_back(to_json(host));
  if (!(plan.request == PlanRequest{})) object["request"] = to_json(plan.request);
  object["declared"] = plan.declared;
  object["totals"] = {{"planned", planned}, {"runnable", planned - skipped}, {"skipped", skipped}};
  return object;
}

}  // namespace

json to_json(const PlannedCell& planned) {
  JsonText out;
  write_cell(out, planned);
  return json::parse(out.text());
}

PlannedCell planned_cell_from_json(const json& object) {
  PlannedCell planned;
  Cell& cell = planned.cell;
  cell.request = canonical_request_from_json(required<json>(kPlanDocument, object, "request"));
  if (object.contains("peaks")) {
    cell.request.peaks = device_peaks_from_json(required<json>(kPlanDocument, object, "peaks"));
  }
  cell.request.cell_id = required<std::string>(kPlanDocument, object, "cell_id");
  cell.request.turn_steps = optional_field<std::int64_t>(kPlanDocument, object, "turn_steps").value_or(0);
  cell.slug = required<std::string>(kPlanDocument, object, "slug");
  cell.coordinates = required<Coordinates>(kPlanDocument, object, "coordinates");
  const json reference = required<json>(kPlanDocument, object, "reference_cell_id");
  if (!reference.is_null()) cell.reference_cell_id = required<std::string>(kPlanDocument, object, "reference_cell_id");
  cell.required = required<bool>(kPlanDocument, object, "required");
  cell.repeat = required<int>(kPlanDocument, object, "repeat");
  cell.poison_last_repeat = required<bool>(kPlanDocument, object, "poison_last_repeat");
  cell.exclusive = required<bool>(kPlanDocument, object, "exclusive");
  cell.limits = limits_from(required<json>(kPlanDocument, object, "limits"));
  std::vector<CellThreshold> thresholds;
  for (const json& threshold : required<json>(kPlanDocument, object, "thresholds")) {
    thresholds.push_back(threshold_from(threshold));
  }
  cell.thresholds = std::move(thresholds);
  for (const json& entry : required<json>(kPlanDocument, object, "injections")) {
    cell.injections[required<int>(kPlanDocument, entry, "repeat")] =
        injection_from_json(required<json>(kPlanDocument, entry, "injection"));
  }
  const json skip = required<json>(kPlanDocument, object, "skip");
  if (!skip.is_null()) {
    planned.skip =
        Skip{required<std::string>(kPlanDocument, skip, "rule"), required<std::string>(kPlanDocument, skip, "reason")};
  }
  planned.notes = required<std::vector<std::string>>(kPlanDocument, object, "notes");
  return planned;
}

void write_plan(const Plan& plan, const std::function<void(std::string_view)>& sink) {
  std::string header = header_json(plan).dump();
  header.pop_back();  // its closing brace comes after the cells
  std::string part = header + ",\"cells\":[";
  JsonText line;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    part += i == 0 ? "\n" : ",\n";
    line.clear();
    write_cell(line, plan.cells[i]);
    part += line.text();
    if (part.size() < kPartBytes) continue;
    sink(part);
    part.clear();
  }
  sink(part + "\n]}\n");
}

Plan plan_from_json(const json& object) {
  require_document(object, kPlanDocument);
  Plan plan;
  plan.matrix = required<std::string>(kPlanDocument, object, "matrix");
  plan.matrix_file = required<std::string>(kPlanDocument, object, "matrix_file");
  if (object.contains("request")) plan.request = request_from(required<json>(kPlanDocument, object, "request"));
  plan.host = host_facts_from_json(required<json>(kPlanDocument, object, "host"));
  if (object.contains("hosts")) plan.hosts = hosts_from(required<json>(kPlanDocument, object, "hosts"));
  plan.declared = required<decltype(plan.declared)>(kPlanDocument, object, "declared");
  const auto cells = object.find("cells");
  if (cells == object.end() || !cells->is_array()) throw ContractError("plan: `cells` is missing");
  plan.cells.reserve(cells->size());
  for (const json& cell : *cells) plan.cells.push_back(planned_cell_from_json(cell));
  return plan;
}

}  // namespace reprobench
