#include "matrix/cli/compared_words.hpp"

#include <fmt/format.h>

#include "matrix/cli/stored_runs.hpp"
#include "matrix/plan/plan_json.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

// By the plan, which a run has before its verdict: a cell of a run that was killed is answered by that run's state.
std::vector<CellName> cells_of_newest_run(const std::filesystem::path& store) {
  std::vector<CellName> cells;
  if (stored_run_names(store).empty()) return cells;
  const auto plan = nlohmann::json::parse(read_file(find_run(store, "") / "plan.json"), nullptr, false);
  if (plan.is_discarded()) return cells;
  for (const PlannedCell& planned : plan_from_json(plan).cells) {
    cells.push_back({planned.cell.request.cell_id, planned.cell.slug});
  }
  return cells;
}

}  // namespace

RunCells run_cells_named(const Project& project, const std::map<std::string, StackSpec>& stacks,
                         const std::string& word) {
  const std::filesystem::path& store = project.store();
  if (word.empty() || is_stored_run(store, word)) return {find_judged_run(store, word), ""};
  const auto colon = word.rfind(':');
  const std::string run = word.substr(0, colon);
  if (colon != std::string::npos && is_stored_run(store, run)) {
    return {find_judged_run(store, run), word.substr(colon + 1)};
  }
  const std::vector<CellName> cells = cells_of_newest_run(store);
  if (const auto found = find_cell(cells, word)) return {find_judged_run(store, ""), cells[*found].id};
  // What is neither may be a stack's name, or one mistyped.
  project.stack_files().require_readable(word);
  if (stacks.contains(word)) throw UsageError(fmt::format("stack `{}` can only be compared with another stack", word));
  std::vector<std::string> names = stored_run_names(store);
  for (const auto& [name, spec] : stacks) names.push_back(name);
  for (const CellName& cell : cells) names.push_back(cell.slug);
  throw UsageError(unknown_name("run, cell of the newest run, or stack", word, names));
}

}  // namespace reprobench
