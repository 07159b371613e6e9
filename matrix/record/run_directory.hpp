// The files of a run, and the only code that writes them. The files are the truth; the SQLite index is rebuilt from
// them.
//
//   STORE/runs/r-20261121-101502-348-7f3a/
//     run.json  plan.json  journal.jsonl  lock  verdict.json  junit.xml
//     inputs/            the matrix, suite and stack files as they were
//     cells/CELL_ID/r0a0.NONCE/   telemetry.jsonl, and a folder for each rank, also if there is only one:
//       rank-0/   request.json trace.jsonl result.json exit.json stdout.log stderr.log, turns.jsonl of a resident
//       worker
//       and the same below stopped/ and resumed/ if the training was stopped and resumed
//       (contract/attempt_segment.hpp)
//     report/            report.html summary.md checks.csv
// Durable files are written under a temporary name, synced and renamed (reliability rule R9).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "matrix/contract/attempt_segment.hpp"
#include "matrix/contract/diagnosis.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/record/run_info.hpp"
#include "matrix/record/seal.hpp"

namespace reprobench {

class Sha256;

// The store or a run directory cannot be read or written, is corrupt, or is held by another process: exit code 5.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Never leaves a half-written file under `path`: it uses a temporary name, fsync, rename, and fsync of the folder.
// Throws StoreError.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// The same for content that is too large for memory: `write` passes its parts to the sink, in order and each large
// enough for a write(2).
using TextSink = std::function<void(std::string_view)>;
void write_file_atomically(const std::filesystem::path& path, const std::function<void(const TextSink&)>& write);

// Throws StoreError.
std::string read_file(const std::filesystem::path& path);

// Whether it is certain that nothing can be written there: another user's folder, or a mount that can only be read.
bool is_read_only(const std::filesystem::path& folder);

// Throws StoreError if a process is writing the run now: "run r1 is held by pid 4242 ...".
void require_not_held(const std::filesystem::path& run_folder, const std::string& run_id);

// "rank-0": the name of a rank's folder in its attempt's.
std::string rank_folder_name(int rank);

class RunDirectory {
 public:
  // Makes STORE/runs/RUN_ID (or `folder`, if given), takes its lock and writes plan.json and run.json. Throws
  // StoreError: "run r1 is held by pid 4242 on host h since 2026-01-01T00:00:00Z".
  static RunDirectory create(const std::filesystem::path& store, const std::optional<std::filesystem::path>& folder,
                             const RunInfo& info, const Plan& plan);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();  // releases the lock

  const std::filesystem::path& folder() const { return folder_; }

  // Makes a new attempt folder with the folders and request.json of its `world_size` ranks, and records the intent in
  // the journal, before anything is launched.
  std::filesystem::path begin_attempt(const CellRequest& request);

  // Makes the folders and request.json of one of its later segments; returns the folder that they are in.
  std::filesystem::path begin_segment(const CellRequest& request, AttemptSegment segment);

  // Records the end of an attempt in the journal, with the seal of its files (seal.hpp). `rank` is the one of several
  // that ended it.
  void end_attempt(const CellRequest& request, AttemptEnd end, const std::string& detail,
                   std::optional<int> rank = std::nullopt);

  // Takes over an attempt of another run with all its files. They are copied, because a file with two names is refused
  // when it is read (plain_file.hpp). Only regular files are copied, and of
  // one that ends as `store` none over 64 MiB.
  void adopt_attempt(const CellRequest& request, const std::filesystem::path& source, AttemptEnd end,
                     const std::string& detail, std::optional<int> rank = std::nullopt);

  // Records the cause of the difference between a cell and its reference; once for each cell.
  void note_diagnosis(const CellDiagnosis& diagnosis);

  void keep_input(const std::string& name, std::string_view content);

  // Syncs everything to disk, and records in run.json that the run has ended. Throws StoreError if plan.json or
  // journal.jsonl is no longer as it was written. A process that could reach them, such as a worker, may then have
  // changed what is judged.
  RunSeal finish(const RunInfo& info);

 private:
  RunDirectory(std::filesystem::path folder, int lock_fd);
  std::filesystem::path make_attempt_folder(const CellRequest& request) const;
  void journal_begin(const CellRequest& request);
  void append_journal(const nlohmann::json& entry);

  std::filesystem::path folder_;
  int lock_fd_ = -1;
  int journal_fd_ = -1;
  std::int64_t journal_seq_ = 0;
  std::string plan_sha256_;              // as written
  std::unique_ptr<Sha256> journal_sha_;  // of the text that was appended
};

}  // namespace reprobench
