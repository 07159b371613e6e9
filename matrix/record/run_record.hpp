// A run as its files tell it: the input of every judgement and report. Loading never throws for what a worker wrote;
// broken worker output becomes the attempt's end `contract` with one sentence on what is wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/record/telemetry_summary.hpp"

namespace reprobench {

struct Trace {
  TraceHeader header;
  std::vector<StepRecord> steps;
  std::vector<TensorsRecord> tensors;  // in file order, the final state last
  std::vector<ProbeMeasurement> measurements;
  std::string problem;  // empty: complete; else "trace.jsonl:118: line cut after 73 bytes; 117 complete lines kept"
};

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

// A run that a merged run was made of.
struct RunSource {
  std::string run_id;
  std::string host;  // label, as in plan.json
  std::string started_utc;
  std::string ended_utc;
  std::int64_t duration_ns = 0;
  bool interrupted = false;
};

struct RunInfo {
  std::string run_id;         // "r-20261121-101502-7f3a"
  std::string matrix_digest;  // SHA-256 of the matrix text
  std::vector<std::string> command_line;
  std::string started_utc;  // ISO 8601; for people, never for durations
  std::string ended_utc;    // empty while running
  std::int64_t duration_ns = 0;
  bool interrupted = false;
  std::string reprobench_version;
  std::vector<RunSource> sources;  // of a merged run; empty: this run was run
};

// The fields alone, as run.json and verdict.json carry them; run.json adds the document head.
nlohmann::json to_json(const RunInfo& info);

// Throws ContractError naming the field.
RunInfo run_info_from_json(const nlohmann::json& json);

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
