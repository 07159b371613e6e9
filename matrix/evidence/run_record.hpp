// A run as its files tell it, each attempt with the end that they come to: the input of every judgement and report.
// Loading never throws for what a worker wrote; broken worker output becomes the attempt's end `contract` with one
// sentence on what is wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/evidence/telemetry_summary.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/record/run_info.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {

struct AttemptRecord {
  int repeat = 0;
  int attempt = 0;
  std::string nonce;
  std::string folder;  // relative to the run directory
  AttemptEnd end = AttemptEnd::lost;
  std::string
      detail;  // one sentence: "exit code 3", "SIGSEGV", "result.json: cell_id 9f3c.. does not match expected 71aa.."
  std::optional<ExitRecord> exit;
  std::optional<CellResult> result;
  std::optional<Trace> trace;                 // nothing: still on disk (trace_reader.hpp)
  std::optional<TelemetrySummary> telemetry;  // nothing: it had no GPU
};

struct CellRecord {
  std::string cell_id;
  std::vector<AttemptRecord> attempts;  // by repeat, then attempt
};

struct RunRecord {
  RunInfo info;
  Plan plan;
  std::vector<CellRecord> cells;  // in plan order, one a planned cell, skipped ones without attempts
  std::string folder;             // the run directory; traces that are not in memory are read from there
};

// Reads one attempt's folder and says how it ended. `request` is what the coordinator wrote, never what is on disk.
// `stopped_as` is the end the executor already knows (timeout, hang, interrupted, launch, store); it wins over what the
// files say.
AttemptRecord load_attempt(const std::string& run_folder, const std::string& attempt_folder, const CellRequest& request,
                           std::optional<AttemptEnd> stopped_as);

// Throws StoreError for a folder that is no run directory or whose own documents are broken.
RunRecord load_run(const std::string& run_folder);

}  // namespace reprobench
