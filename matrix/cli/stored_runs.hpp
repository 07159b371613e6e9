// Runs of a store, for verbs that read one.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// Thrown for a run that was killed before its verdict. Nothing is decided (exit code 3), and no older run answers for
// it.
class UnfinishedRun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Names of the runs of a store, oldest first, those without a verdict included. Empty without a store.
std::vector<std::string> stored_run_names(const std::filesystem::path& store);

bool is_stored_run(const std::filesystem::path& store, const std::string& run);

// `run`: a run id or a run directory; empty: the newest run of the store, whatever its state. Throws UsageError if
// there is none.
std::filesystem::path find_run(const std::filesystem::path& store, const std::string& run);

// The same for a run that must have its verdict. Throws UnfinishedRun, and StoreError while a process writes it.
std::filesystem::path find_judged_run(const std::filesystem::path& store, const std::string& run);

// A warning, one line, for the case that `word` names no run, so the newest one answers, but a younger folder has no
// run.json. The run of that folder died at once, and its user must not mistake the older run's answer for its own.
// Empty if there is no such folder, or if `word` (RUN or RUN:CELL) names a run.
std::string passed_over(const std::filesystem::path& store, const std::string& word);

struct CellName {
  std::string id;
  std::string slug;
};

// The index of the cell with this slug, id, or beginning of an id of at least 4 digits; nothing if there is none.
// Throws UsageError if several ids begin so.
std::optional<std::size_t> find_cell(const std::vector<CellName>& cells, const std::string& wanted);

// The cell of a run that find_cell() means. Throws UsageError with the nearest slug for one that the run has not.
const CellVerdict& cell_named(const RunVerdict& verdict, const std::string& wanted);

// verdict.json of a run directory. Throws StoreError, ContractError.
RunVerdict load_verdict(const std::filesystem::path& run_folder);

// The same for whoever concludes something from it. Throws StoreError if a file of the run, or the verdict itself,
// changed since it was judged.
RunVerdict load_unchanged_verdict(const std::filesystem::path& run_folder);

}  // namespace reprobench
