#include <algorithm>
#include <filesystem>
#include <map>

#include "matrix/evidence/attempt_judge.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/plan/plan_json.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/run_documents.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A document of the coordinator's own: anything wrong with it is damage to the store.
template <class Document>
Document load_own(const fs::path& path, Document (*from_json)(const json&)) {
  const std::string text = read_file(path);
  try {
    return from_json(json::parse(text));
  } catch (const std::exception& error) {
    throw StoreError(path.string() + ": " + error.what());
  }
}

// Ends that only the runner could know; all others are read from the attempt's files again.
std::optional<AttemptEnd> known_to_runner(const std::optional<AttemptEnd>& end) {
  if (!end) return std::nullopt;
  switch (*end) {
    case AttemptEnd::timeout:
    case AttemptEnd::hang:
    case AttemptEnd::launch:
    case AttemptEnd::store:
    case AttemptEnd::lost:
    case AttemptEnd::interrupted:
      return end;
    default:
      return std::nullopt;
  }
}

AttemptRecord load_journaled(const fs::path& run_folder, const Cell& cell, const JournaledAttempt& entry) {
  CellRequest request = cell.request;
  request.repeat = entry.repeat;
  request.attempt = entry.attempt;
  request.nonce = entry.nonce;
  const KnownEnd known{known_to_runner(entry.end), entry.rank};
  AttemptRecord record = load_attempt(run_folder.string(), entry.folder, request, known);
  if (known.end) record.detail = entry.detail;
  drop_traces(record);
  return record;
}

}  // namespace

AttemptRecord load_attempt(const std::string& run_folder, const std::string& attempt_folder, const CellRequest& request,
                           const KnownEnd& known) {
  const fs::path folder = fs::path(run_folder) / attempt_folder;
  AttemptFiles files = read_attempt_files(folder, request);
  AttemptRecord record;
  record.repeat = request.repeat;
  record.attempt = request.attempt;
  record.nonce = request.nonce;
  record.folder = attempt_folder;
  if (files.telemetry) {
    const auto& trace = files.ranks.front().trace;
    record.telemetry = summarise_telemetry(*files.telemetry, trace ? &*trace : nullptr);
  }
  JudgedAttempt judged = judge_attempt(files, record.telemetry, request, known);
  record.end = judged.attempt.end;
  record.detail = std::move(judged.attempt.detail);
  record.ended_by = judged.ended_by;
  record.ranks.resize(files.ranks.size());
  for (std::size_t i = 0; i < record.ranks.size(); ++i) {
    RankRecord& rank = record.ranks[i];
    rank.folder = rank_folder(folder, static_cast<int>(i)).lexically_relative(run_folder).string();
    if (judged.ranks[i]) rank.end = judged.ranks[i]->end;
    rank.detail = judged.ranks[i] ? std::move(judged.ranks[i]->detail) : "stopped because another rank had ended";
    rank.exit = std::move(files.ranks[i].exit.value);
    rank.result = std::move(files.ranks[i].result.value);
    rank.trace = std::move(files.ranks[i].trace);
  }
  return record;
}

void drop_traces(AttemptRecord& attempt) {
  for (RankRecord& rank : attempt.ranks) rank.trace.reset();
}

RunRecord load_run(const std::string& run_folder) {
  const fs::path folder(run_folder);
  if (!fs::exists(folder / "run.json")) throw StoreError(run_folder + " is not a run directory: run.json is missing");
  RunRecord run;
  run.folder = run_folder;
  run.info = load_own(folder / "run.json", &run_info_from_document);
  run.plan = load_own(folder / "plan.json", &plan_from_json);

  std::map<std::string, std::size_t> cell_index;
  for (const PlannedCell& planned : run.plan.cells) {
    const std::string& cell_id = planned.cell.request.cell_id;
    cell_index.emplace(cell_id, run.cells.size());
    run.cells.push_back({cell_id, {}});
  }
  for (const JournaledAttempt& entry : read_journal(folder / "journal.jsonl")) {
    const auto found = cell_index.find(entry.cell_id);
    if (found == cell_index.end()) {
      throw StoreError((folder / "journal.jsonl").string() + ": cell " + entry.cell_id + " is not in plan.json");
    }
    const Cell& cell = run.plan.cells[found->second].cell;
    run.cells[found->second].attempts.push_back(load_journaled(folder, cell, entry));
  }
  for (CellRecord& cell : run.cells) {
    std::sort(cell.attempts.begin(), cell.attempts.end(), [](const AttemptRecord& a, const AttemptRecord& b) {
      return std::pair(a.repeat, a.attempt) < std::pair(b.repeat, b.attempt);
    });
  }
  return run;
}

}  // namespace reprobench
