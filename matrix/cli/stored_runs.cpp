#include "matrix/cli/stored_runs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/verdict_seal.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// Where a run of that name would lie, nearest first.
std::vector<fs::path> places_of(const fs::path& store, const std::string& run) {
  return {fs::path(run), store / "runs" / run};
}

bool holds_run(const fs::path& folder) { return fs::exists(folder / "run.json"); }

// Sorted by name, which is by age, and without those that `merge` is building.
std::vector<std::string> folder_names(const fs::path& store, bool (*is_meant)(const fs::path&)) {
  std::vector<std::string> names;
  if (!fs::is_directory(store / "runs")) return names;
  for (const auto& entry : fs::directory_iterator(store / "runs")) {
    const std::string name = entry.path().filename();
    if (name.front() != '.' && is_meant(entry.path())) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> stored_run_names(const fs::path& store) {
  return folder_names(store, [](const fs::path& folder) { return holds_run(folder); });
}

bool is_stored_run(const fs::path& store, const std::string& run) {
  const auto places = places_of(store, run);
  return std::any_of(places.begin(), places.end(), holds_run);
}

fs::path find_run(const fs::path& store, const std::string& run) {
  const auto names = stored_run_names(store);
  if (run.empty()) {
    if (names.empty())
      throw UsageError(store.string() + " holds no run; `reprobench run` makes one, and --store names another store");
    return store / "runs" / names.back();
  }
  const auto places = places_of(store, run);
  const auto found = std::find_if(places.begin(), places.end(), holds_run);
  if (found != places.end()) return *found;
  if (fs::is_directory(run)) throw UsageError(fmt::format("`{}` is no run: it has no run.json", run));
  if (names.empty()) throw UsageError(fmt::format("there is no run `{}`: {} holds none", run, store.string()));
  throw UsageError(unknown_name("run", run, names));
}

fs::path find_judged_run(const fs::path& store, const std::string& run) {
  const fs::path folder = find_run(store, run);
  if (fs::exists(folder / "verdict.json")) return folder;
  const std::string name = folder.filename();
  require_not_held(folder, name);
  throw UnfinishedRun(
      fmt::format("run {} is unfinished: it ended before its verdict; `reprobench report {}` judges "
                  "what there is",
                  name, folder.string()));
}

std::string passed_over(const fs::path& store, const std::string& word) {
  if (!word.empty() && (is_stored_run(store, word) || is_stored_run(store, word.substr(0, word.rfind(':'))))) return "";
  const auto runs = stored_run_names(store);
  const auto dead =
      folder_names(store, [](const fs::path& folder) { return fs::is_directory(folder) && !holds_run(folder); });
  if (runs.empty() || dead.empty() || dead.back() < runs.back()) return "";
  return fmt::format("{} is younger than run {} and is left aside: it has no run.json, with which a run begins\n",
                     dead.back(), runs.back());
}

std::optional<std::size_t> find_cell(const std::vector<CellName>& cells, const std::string& wanted) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].slug == wanted || cells[i].id == wanted) return i;
    if (wanted.size() < 4 || !cells[i].id.starts_with(wanted)) continue;
    if (found) throw UsageError(fmt::format("`{}` is the beginning of several cell ids", wanted));
    found = i;
  }
  return found;
}

const CellVerdict& cell_named(const RunVerdict& verdict, const std::string& wanted) {
  std::vector<CellName> names;
  std::vector<std::string> slugs;
  for (const CellVerdict& cell : verdict.cells) {
    names.push_back({cell.cell_id, cell.slug});
    slugs.push_back(cell.slug);
  }
  if (const auto found = find_cell(names, wanted)) return verdict.cells.at(*found);
  throw UsageError(unknown_name("cell of this run", wanted, slugs));
}

RunVerdict load_verdict(const fs::path& run_folder) {
  const nlohmann::json verdict = json_or_discarded(read_file(run_folder / "verdict.json"));
  if (verdict.is_discarded()) throw StoreError((run_folder / "verdict.json").string() + " is not JSON");
  return verdict_from_json(verdict);
}

RunVerdict load_unchanged_verdict(const std::filesystem::path& run_folder) {
  if (const std::string changed = broken_verdict(run_folder); !changed.empty()) throw StoreError(changed);
  if (const auto changed = changed_since_judged(run_folder.string()); !changed.empty()) {
    throw StoreError(changed.front());
  }
  return load_verdict(run_folder);
}

}  // namespace reprobench
