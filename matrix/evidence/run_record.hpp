// A run as its files tell it, each attempt with its judged end. It is the input of every judgement and report. Loading
// never throws for what a worker wrote; broken worker output becomes the attempt's end `contract` with one sentence on
// what is wrong.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/attempt_segment.hpp"
#include "matrix/contract/diagnosis.hpp"
#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/evidence/attempt_judge.hpp"
#include "matrix/evidence/telemetry_summary.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/record/run_info.hpp"
#include "matrix/record/seal.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {

// One process of an attempt, with what it left.
struct RankRecord {
  std::string folder;             // relative to the run directory
  std::optional<AttemptEnd> end;  // nothing: stopped because another rank ended the attempt
  std::string detail;  // one sentence: "exit code 3", "SIGSEGV", "result.json: nonce 9f3c.. does not match ..."
  std::optional<ExitRecord> exit;
  std::optional<CellResult> result;
  std::optional<Trace> trace;  // nothing: still on disk (trace_reader.hpp)
  std::string torch;           // what LibTorch said its version is when the trace began; empty: it did not say
};

// What a later process of the attempt left: the one that was stopped, or the one that resumed from there.
struct SegmentRecord {
  AttemptSegment segment = AttemptSegment::stopped;
  std::vector<RankRecord> ranks;  // never empty
};

struct AttemptRecord {
  int repeat = 0;
  int attempt = 0;
  std::string nonce;
  std::string folder;  // relative to the run directory
  AttemptEnd end = AttemptEnd::lost;
  std::string detail;  // of the rank that ended it, with its name if there are several: "rank 1: SIGSEGV"
  int ended_by = 0;    // that rank; 0 if the attempt completed
  std::vector<RankRecord> ranks = std::vector<RankRecord>(1);  // rank N at [N]; never empty
  std::optional<TelemetrySummary> telemetry;                   // nothing: it had no GPU
  std::vector<SegmentRecord> segments{};  // in order, after the whole training, whose ranks are `ranks`

  const RankRecord& lead() const { return ranks.front(); }
  RankRecord& lead() { return ranks.front(); }
  // The last segment to begin is the one that ended it.
  const RankRecord& deciding() const {
    return (segments.empty() ? ranks : segments.back().ranks)[static_cast<std::size_t>(ended_by)];
  }
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
  std::map<std::string, CellDiagnosis> diagnoses{};  // by cell
  std::optional<RunSeal> seal{};  // of plan and journal as they were read; nothing: of a run that is not on disk
};

// Reads one attempt's folder and says how it ended. `request` is what the coordinator wrote, never what is on disk.
AttemptRecord load_attempt(const std::string& run_folder, const std::string& attempt_folder, const CellRequest& request,
                           const KnownEnd& known);

// Whether that segment, the last to begin so far, completed.
bool segment_is_completed(const std::filesystem::path& attempt_folder, const CellRequest& request,
                          AttemptSegment segment);

// Reads the traces that were dropped again. Throws StoreError for one that cannot be read as it was.
void load_traces(AttemptRecord& attempt, const std::string& run_folder, const CellRequest& request);

// Traces stay on disk, since a run of thousands of cells must fit in memory. Whoever needs one reads it again.
void drop_traces(AttemptRecord& attempt);

// An attempt whose files are not those that were sealed when it ended comes back with the end `store`, and the file
// named: "rank-0/trace.jsonl changed since it was judged". Throws StoreError for a folder that is no run directory, or
// whose own documents are broken or not those that verdict.json was made of.
RunRecord load_run(const std::string& run_folder);

// The files of a run that changed since it was judged, one for each attempt or image that has one:
// "cells/.../r0a0.../rank-0/trace.jsonl changed since it was judged". It is for callers that show a verdict without
// judging again. Throws StoreError as load_run does.
std::vector<std::string> changed_since_judged(const std::string& run_folder);

}  // namespace reprobench
