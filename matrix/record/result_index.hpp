// The SQLite index over the runs of a store, for listing and history. It can be rebuilt from the run directories at any
// time, so losing it loses nothing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/base/file_descriptor.hpp"

struct sqlite3;

namespace reprobench {

struct IndexedRun {
  std::string run_id;
  std::string folder;
  std::string matrix;
  std::string started_utc;
  std::string verdict;  // empty while unfinished
  int exit_code = -1;
  int cells = 0;
};

// The runs in the index of a store, newest first. If there is no index, none is returned and none is made.
std::vector<IndexedRun> indexed_runs(const std::filesystem::path& store);

class ResultIndex {
 public:
  // Opens or makes STORE/index.db. Throws StoreError naming the check that failed: "index.db is not a reprobench store
  // (SQLite 26); run directories are intact, run `reprobench db rebuild`".
  explicit ResultIndex(const std::filesystem::path& store);
  ~ResultIndex();
  ResultIndex(const ResultIndex&) = delete;
  ResultIndex& operator=(const ResultIndex&) = delete;

  // One transaction for the run, its cells and its checks, from run.json and verdict.json. Idempotent.
  void add_run(const std::filesystem::path& run_folder, const nlohmann::json& run, const nlohmann::json& verdict);

  // Drops everything and reads STORE/runs again. Returns the number of runs found. A run directory that cannot be read
  // is left out.
  int rebuild();

  // The same for an index that cannot even be opened. A new file is built from STORE/runs and replaces the old one in
  // one rename. Run directories that cannot be read are left out and named in `problems`. Throws StoreError if another
  // process has the index open for longer than 5 s.
  static int rebuild(const std::filesystem::path& store, std::vector<std::string>* problems = nullptr);

  std::vector<IndexedRun> runs() const;  // newest first

 private:
  void remove_unfinished();

  std::filesystem::path store_;
  FileDescriptor lock_;  // shared while the database is open, so that no rebuild swaps the file under a live connection
  sqlite3* db_ = nullptr;
};

}  // namespace reprobench
