#include "matrix/plan/plan_json.hpp"

#include <algorithm>

#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/text_writer.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kPartBytes = 64 << 10;

}  // namespace

using nlohmann::json;

PlanTotals totals_of(const Plan& plan) {
  const auto skipped = std::count_if(plan.cells.begin(), plan.cells.end(),
                                     [](const PlannedCell& cell) { return cell.skip.has_value(); });
  const auto planned = static_cast<std::ptrdiff_t>(plan.cells.size());
  return {planned, planned - skipped, skipped};
}

json to_json(const PlannedCell& planned) { return written(planned); }
PlannedCell planned_cell_from_json(const json& object) { return read_document<PlannedCell>(object, "plan"); }
Plan plan_from_json(const json& object) { return read_document<Plan>(object); }

void write_plan(const Plan& plan, const std::function<void(std::string_view)>& sink) {
  json header = document(Description<Plan>::about.name);
  header.update(
      written_fields([&](auto& field) { Description<Plan>::fields_before_cells(field, const_cast<Plan&>(plan)); }));
  std::string part = header.dump();
  part.pop_back();  // its closing brace comes after the cells
  part += ",\"cells\":[";
  JsonText line;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    part += i == 0 ? "\n" : ",\n";
    line.clear();
    write_text(line, plan.cells[i]);
    part += line.text();
    if (part.size() < kPartBytes) continue;
    sink(part);
    part.clear();
  }
  sink(part + "\n]}\n");
}

}  // namespace reprobench
