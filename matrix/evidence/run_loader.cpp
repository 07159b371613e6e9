#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/json_parse.hpp"
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
  const ParsedJson parsed = parse_json(text);
  if (!parsed.problem.empty()) throw StoreError(path.string() + ": " + parsed.problem);
  try {
    return from_json(parsed.value);
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

// Nothing: the verdict is of contract 1.1, or there is none yet.
std::optional<RunSeal> seal_in_verdict(const fs::path& run_folder) {
  const fs::path path = run_folder / "verdict.json";
  if (!fs::exists(path)) return std::nullopt;
  const auto seal_of = +[](const json& verdict) {
    const auto seal = verdict.find("seal");
    return seal == verdict.end() ? std::optional<RunSeal>() : read_document<RunSeal>(*seal);
  };
  return load_own(path, seal_of);
}

// Plan and journal, held against each other and against the verdict that was made of them.
Journal read_sealed_journal(const fs::path& run_folder, const RunSeal& found) {
  const auto refuse = [&](const char* name) {
    throw StoreError((run_folder / name).string() + " changed since it was judged");
  };
  Journal journal = read_journal(run_folder / "journal.jsonl");
  const bool is_planned = journal.plan_sha256.empty() || journal.plan_sha256 == found.plan_sha256;
  const auto judged = seal_in_verdict(run_folder);
  if (!is_planned || (judged && judged->plan_sha256 != found.plan_sha256)) refuse("plan.json");
  if (judged && judged->journal_sha256 != found.journal_sha256) refuse("journal.jsonl");
  return journal;
}

AttemptRecord load_journaled(const fs::path& run_folder, const Cell& cell, const JournaledAttempt& entry) {
  CellRequest request = cell.request;
  request.repeat = entry.repeat;
  request.attempt = entry.attempt;
  request.nonce = entry.nonce;
  KnownEnd known{known_to_runner(entry.end), entry.rank};
  std::string detail = entry.detail;
  if (entry.files) {
    const std::string broken = broken_seal(run_folder / entry.folder, *entry.files);
    if (!broken.empty()) known = {AttemptEnd::store, std::nullopt}, detail = broken;
  }
  AttemptRecord record = load_attempt(run_folder.string(), entry.folder, request, known);
  if (known.end) record.detail = detail;
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
    if (rank.trace) rank.torch = rank.trace->header.torch;
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
  run.seal = seal_of_run(folder);

  std::map<std::string, std::size_t> cell_index;
  for (const PlannedCell& planned : run.plan.cells) {
    const std::string& cell_id = planned.cell.request.cell_id;
    if (!cell_index.emplace(cell_id, run.cells.size()).second) {
      throw StoreError((folder / "plan.json").string() + ": cell " + cell_id + " is planned twice");
    }
    run.cells.push_back({cell_id, {}});
  }
  for (const JournaledAttempt& entry : read_sealed_journal(folder, *run.seal).attempts) {
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

std::vector<std::string> changed_since_judged(const std::string& run_folder) {
  const fs::path folder(run_folder);
  std::vector<std::string> changed;
  for (const JournaledAttempt& entry : read_sealed_journal(folder, seal_of_run(folder)).attempts) {
    if (!entry.files) continue;
    const std::string broken = broken_seal(folder / entry.folder, *entry.files);
    if (!broken.empty()) changed.push_back(entry.folder + "/" + broken);
  }
  return changed;
}

}  // namespace reprobench
