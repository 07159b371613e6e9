#include "matrix/record/result_index.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <sys/file.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/json_field.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/record/abandoned_files.hpp"
#include "matrix/record/index_file.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/run_documents.hpp"
#include "matrix/record/sqlite_database.hpp"
#include "matrix/record/verdict_seal.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Seals a row: SQLite itself does not notice a flipped bit in a stored value.
std::string row_checksum(const IndexedRun& run) {
  return hex32(crc32c(fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}", run.run_id, run.folder, run.matrix,
                                  run.started_utc, run.verdict, run.exit_code, run.cells)));
}

IndexedRun indexed_run(const fs::path& folder, const json& run, const json& verdict) {
  IndexedRun row;
  row.run_id = required<std::string>("run", run, "run_id");
  row.folder = folder.string();
  row.started_utc = required<std::string>("run", run, "started_utc");
  if (verdict.is_null()) return row;
  row.matrix = required<std::string>("verdict", verdict, "matrix");
  row.verdict = required<std::string>("verdict", verdict, "word");
  row.exit_code = required<int>("verdict", verdict, "exit_code");
  row.cells = static_cast<int>(required<json>("verdict", verdict, "cells").size());
  return row;
}

std::optional<double> optional_number(const json& object, const char* key) {
  return number_from_json(required<json>("verdict", object, key));
}

void insert_run(sqlite3* db, const IndexedRun& run) {
  Statement(db, "DELETE FROM runs WHERE run_id = ?").bind(run.run_id).run();
  Statement insert(db, "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(run.run_id).bind(run.folder).bind(run.matrix).bind(run.started_utc).bind(run.verdict);
  insert.bind(std::int64_t{run.exit_code}).bind(std::int64_t{run.cells}).bind(row_checksum(run)).run();
}

void insert_cells(sqlite3* db, const std::string& run_id, const json& cells) {
  Statement insert_cell(db, "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)");
  Statement insert_check(db, "INSERT INTO checks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const auto text = [](const json& object, const char* key) { return required<std::string>("verdict", object, key); };
  for (const json& cell : cells) {
    const std::string cell_id = text(cell, "cell_id");
    insert_cell.bind(run_id).bind(cell_id).bind(text(cell, "slug")).bind(text(cell, "outcome"));
    insert_cell.bind(text(cell, "reason")).bind(text(cell, "workload_digest")).bind(text(cell, "chain")).run();
    for (const json& check : required<json>("verdict", cell, "checks")) {
      insert_check.bind(run_id).bind(cell_id).bind(text(check, "metric")).bind(text(check, "status"));
      insert_check.bind(text(check, "reason")).bind(optional_number(check, "measured"));
      insert_check.bind(optional_number(check, "reference")).bind(optional_number(check, "ratio"));
      insert_check.bind(text(check, "unit")).run();
    }
  }
}

void add_to(sqlite3* db, const fs::path& run_folder, const json& run, const json& verdict) {
  const IndexedRun row = indexed_run(run_folder, run, verdict);
  Transaction transaction(db);
  insert_run(db, row);
  if (!verdict.is_null()) insert_cells(db, row.run_id, required<json>("verdict", verdict, "cells"));
  transaction.commit();
}

json parsed_file(const fs::path& path) {
  json document = json_or_discarded(read_file(path));
  if (document.is_discarded()) throw StoreError(path.string() + ": not JSON");
  return document;
}

// Null: there is none yet, or it is not the one that was judged. `problem` says the latter. Throws StoreError if nobody
// can tell.
json verdict_of(const fs::path& folder, std::string& problem) {
  const fs::path path = folder / "verdict.json";
  if (!fs::exists(path)) return nullptr;
  if (const std::string broken = broken_verdict(folder); !broken.empty()) problem = (folder / broken).string();
  return problem.empty() ? parsed_file(path) : json(nullptr);
}

// How many runs were found; those that cannot be read are named in `problems`.
int add_all(sqlite3* db, const fs::path& store, std::vector<std::string>& problems) {
  if (!fs::is_directory(store / "runs")) return 0;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(store / "runs")) {
    const bool is_being_built = entry.path().filename().string().front() == '.';
    if (!is_being_built) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  int found = 0;
  for (const fs::path& folder : folders) {
    remove_abandoned_files(folder);
    remove_abandoned_files(folder / "inputs");
    remove_abandoned_files(folder / "report");
    if (!fs::exists(fs::symlink_status(folder / "run.json"))) continue;  // it died before it was a run
    try {
      std::string problem;
      add_to(db, folder, parsed_file(folder / "run.json"), verdict_of(folder, problem));
      if (!problem.empty()) problems.push_back(problem);
      ++found;
    } catch (const StoreError& error) {
      problems.push_back(error.what());
    } catch (const ContractError& error) {
      problems.push_back(folder.string() + ": " + error.what());
    } catch (const SqliteError& error) {
      if (error.code != SQLITE_CONSTRAINT) throw;  // a cell twice is that run's fault, anything else the index's
      problems.push_back(folder.string() + ": " + error.what());
    }
  }
  return found;
}

// Newest first, as the index returns them. Runs that cannot be read are left out.
std::vector<IndexedRun> runs_of_files(const fs::path& store) {
  std::vector<IndexedRun> runs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(store / "runs", error)) {
    try {
      std::string problem;  // shown as a run without a verdict
      runs.push_back(
          indexed_run(entry.path(), parsed_file(entry.path() / "run.json"), verdict_of(entry.path(), problem)));
    } catch (const StoreError&) {
      continue;
    } catch (const ContractError&) {
      continue;
    }
  }
  std::ranges::sort(runs, std::greater(), [](const IndexedRun& run) { return std::pair(run.started_utc, run.run_id); });
  return runs;
}

}  // namespace

std::vector<IndexedRun> indexed_runs(const fs::path& store) {
  // The index asks for a lock and a log beside it. The files, which are the truth, can be read.
  if (fs::exists(store) && is_read_only(store)) return runs_of_files(store);
  return fs::exists(store / kIndexName) ? ResultIndex(store).runs() : std::vector<IndexedRun>{};
}

ResultIndex::ResultIndex(const fs::path& store) : store_(store) {
  std::error_code error;
  fs::create_directories(store_, error);
  if (error) throw StoreError(fmt::format("cannot make {}: {}", store_.string(), error.message()));
  lock_ = lock_index(store_, LOCK_SH);
  if (has_unfinished_index(store_)) remove_unfinished();
  make_index_if_missing(store_);
  db_ = open_index(store_ / kIndexName);
}

// One that is being built belongs to a holder of the lock, so without another holder it belongs to nobody.
void ResultIndex::remove_unfinished() {
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) remove_abandoned_indexes(store_);
  lock_.reset();  // a change of lock that failed has let the old one go
  lock_ = lock_index(store_, LOCK_SH);
}

ResultIndex::~ResultIndex() { sqlite3_close(db_); }

void ResultIndex::add_run(const fs::path& run_folder, const json& run, const json& verdict) {
  try {
    add_to(db_, run_folder, run, verdict);
  } catch (const SqliteError& error) {
    refuse_index(error);
  }
}

int ResultIndex::rebuild() {
  sqlite3_close(std::exchange(db_, nullptr));
  lock_.reset();
  const int found = rebuild(store_);
  lock_ = lock_index(store_, LOCK_SH);
  db_ = open_index(store_ / kIndexName);
  return found;
}

int ResultIndex::rebuild(const fs::path& store, std::vector<std::string>* problems) {
  const FileDescriptor lock = lock_index(store, LOCK_EX);
  remove_abandoned_indexes(store);
  remove_abandoned_merges(store / "runs");
  std::vector<std::string> unreadable;
  int found = 0;
  try {
    replace_index(store, [&](sqlite3* db) { found = add_all(db, store, unreadable); });
  } catch (const SqliteError& error) {
    refuse_index(error);
  }
  if (problems != nullptr) *problems = std::move(unreadable);
  return found;
}

std::vector<IndexedRun> ResultIndex::runs() const {
  std::vector<IndexedRun> result;
  try {
    Statement select(db_,
                     "SELECT run_id, folder, matrix, started_utc, verdict, exit_code, cells, crc32c FROM runs "
                     "ORDER BY started_utc DESC, run_id DESC");
    while (select.step()) {
      IndexedRun run;
      run.run_id = select.text(0);
      run.folder = select.text(1);
      run.matrix = select.text(2);
      run.started_utc = select.text(3);
      run.verdict = select.text(4);
      run.exit_code = static_cast<int>(select.integer(5));
      run.cells = static_cast<int>(select.integer(6));
      if (select.text(7) != row_checksum(run)) refuse_index("checksum of run " + run.run_id);
      result.push_back(std::move(run));
    }
  } catch (const SqliteError& error) {
    refuse_index(error);
  }
  return result;
}

}  // namespace reprobench
