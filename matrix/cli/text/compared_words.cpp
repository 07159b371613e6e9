#include "matrix/cli/text/compared_words.hpp"

#include <fmt/format.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

struct NewestCells {
  std::vector<CellName> cells;
  std::string unread;  // why they are not known
};

// By the plan, which a run has before its verdict: a cell of a run that was killed is answered by that run's state.
// One whose plan is gone or cut must not keep a word from being a stack's name, or from being told its nearest one.
NewestCells cells_of_newest_run(const std::filesystem::path& store) {
  NewestCells newest;
  if (stored_run_names(store).empty()) return newest;
  try {
    const auto plan = json_or_discarded(read_file(find_run(store, "") / "plan.json"));
    for (const PlannedCell& planned : plan_from_json(plan).cells) {
      newest.cells.push_back({planned.cell.request.cell_id, planned.cell.slug});
    }
  } catch (const std::exception& error) {
    newest = {{}, error.what()};
  }
  return newest;
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
  const NewestCells newest = cells_of_newest_run(store);
  if (const auto found = find_cell(newest.cells, word)) return {find_judged_run(store, ""), newest.cells[*found].id};
  // What is neither may be a stack's name, or one mistyped.
  project.stack_files().require_readable(word);
  if (stacks.contains(word)) throw UsageError(fmt::format("stack `{}` can only be compared with another stack", word));
  std::vector<std::string> names = stored_run_names(store);
  for (const auto& [name, spec] : stacks) names.push_back(name);
  for (const CellName& cell : newest.cells) names.push_back(cell.slug);
  std::string message = unknown_name("run, cell of the newest run, or stack", word, names);
  if (!newest.unread.empty()) message += fmt::format("; the cells of the newest run are not known: {}", newest.unread);
  throw UsageError(message);
}

}  // namespace reprobench
