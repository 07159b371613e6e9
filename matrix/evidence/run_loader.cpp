#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/evidence/attempt_judge.hpp"
#include "matrix/evidence/parallel.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/run_documents.hpp"
#include "matrix/record/verdict_seal.hpp"

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
    case AttemptEnd::disk_limit:
    case AttemptEnd::host_oom:  // by the kernel's counters, or by the worker's own word, which is in its detail
      return end;
    default:
      return std::nullopt;
  }
}

// The run as it was judged.
struct JudgedFiles {
  RunSeal seal;
  json info;  // of run.json
};

// Nothing: there is no verdict yet.
std::optional<JudgedFiles> judged_files(const fs::path& run_folder) {
  const fs::path path = run_folder / "verdict.json";
  if (!fs::exists(path)) return std::nullopt;
  const auto judged = +[](const json& verdict) {
    require_document(verdict, "verdict");
    return std::optional(
        JudgedFiles{read_document<RunSeal>(verdict.at("seal")), to_json(read_document<RunInfo>(verdict.at("info")))});
  };
  return load_own(path, judged);
}

// Plan and journal, held against each other and against the verdict that was made of them.
Journal read_sealed_journal(const fs::path& run_folder, const RunSeal& found) {
  const auto refuse = [&](const char* name) {
    throw StoreError((run_folder / name).string() + " changed since it was judged");
  };
  Journal journal = read_journal(run_folder / "journal.jsonl");
  const bool is_planned = journal.plan_sha256 == found.plan_sha256;
  const auto judged = judged_files(run_folder);
  if (!is_planned || (judged && judged->seal.plan_sha256 != found.plan_sha256)) refuse("plan.json");
  if (judged && judged->seal.journal_sha256 != found.journal_sha256) refuse("journal.jsonl");
  if (judged && to_json(load_own(run_folder / "run.json", &run_info_from_document)) != judged->info) refuse("run.json");
  if (const std::string broken = broken_verdict(run_folder, journal.verdict_sha256); !broken.empty()) {
    throw StoreError((run_folder / broken).string());
  }
  return journal;
}

AttemptRecord load_journaled(const fs::path& run_folder, const Cell& cell, const JournaledAttempt& entry) {
  CellRequest request = cell.request;
  request.repeat = entry.repeat;
  request.attempt = entry.attempt;
  request.nonce = entry.nonce;
  KnownEnd known{known_to_runner(entry.end), entry.rank};
  std::string detail = entry.detail;
  // Its coordinator was killed, or the journal cut: files of a finished attempt may be there, and nobody sealed them.
  if (!entry.end) known = {AttemptEnd::lost, std::nullopt}, detail = "the journal does not say how it ended";
  if (entry.files) {
    const std::string broken = broken_seal(run_folder / entry.folder, *entry.files);
    if (!broken.empty()) known = {AttemptEnd::store, std::nullopt}, detail = broken;
  }
  AttemptRecord record = load_attempt(run_folder.string(), entry.folder, request, known);
  if (known.end) record.detail = detail;
  drop_traces(record);
  return record;
}

struct LoadedSegment {
  JudgedAttempt judged;
  std::vector<RankRecord> ranks;
  std::optional<TelemetrySummary> telemetry;
};

LoadedSegment load_segment(const std::string& run_folder, const fs::path& attempt_folder, const CellRequest& attempt,
                           AttemptSegment segment, const KnownEnd& known) {
  const fs::path folder = segment_folder(attempt_folder, segment);
  const CellRequest request = request_of_segment(attempt, segment);
  AttemptFiles files = read_attempt_files(folder, request);
  LoadedSegment loaded;
  if (files.telemetry) {
    const auto& trace = files.ranks.front().trace;
    loaded.telemetry = summarise_telemetry(*files.telemetry, trace ? &*trace : nullptr);
  }
  loaded.judged = judge_attempt(files, loaded.telemetry, request, known);
  loaded.ranks.resize(files.ranks.size());
  for (std::size_t i = 0; i < loaded.ranks.size(); ++i) {
    RankRecord& rank = loaded.ranks[i];
    auto& judged = loaded.judged.ranks[i];
    rank.folder = rank_folder(folder, static_cast<int>(i)).lexically_relative(run_folder).string();
    if (judged) rank.end = judged->end;
    rank.detail = judged ? std::move(judged->detail) : "stopped because another rank had ended";
    rank.exit = std::move(files.ranks[i].exit.value);
    rank.result = std::move(files.ranks[i].result.value);
    rank.trace = std::move(files.ranks[i].trace);
    if (rank.trace) rank.torch = rank.trace->header.torch;
  }
  return loaded;
}

}  // namespace

// Nothing is known of segments that did not begin; of those that did, the last is the one that a known end is of.
AttemptRecord load_attempt(const std::string& run_folder, const std::string& attempt_folder, const CellRequest& request,
                           const KnownEnd& known) {
  const fs::path folder = fs::path(run_folder) / attempt_folder;
  const auto segments = segments_of(request);
  const auto has_begun = [&](AttemptSegment segment) {
    return segment == AttemptSegment::whole || fs::is_directory(segment_folder(folder, segment));
  };
  const auto begun = std::ranges::count_if(segments, has_begun);
  AttemptRecord record;
  record.repeat = request.repeat;
  record.attempt = request.attempt;
  record.nonce = request.nonce;
  record.folder = attempt_folder;
  for (const AttemptSegment segment : segments.first(static_cast<std::size_t>(begun))) {
    LoadedSegment loaded =
        load_segment(run_folder, folder, request, segment, segment == segments[begun - 1] ? known : KnownEnd{});
    record.end = loaded.judged.attempt.end;
    record.ended_by = loaded.judged.ended_by;
    const std::string prefix = segment == AttemptSegment::whole ? "" : std::string(to_string(segment)) + ": ";
    record.detail = record.end == AttemptEnd::completed ? std::move(loaded.judged.attempt.detail)
                                                        : prefix + loaded.judged.attempt.detail;
    if (segment == AttemptSegment::whole) {
      record.telemetry = std::move(loaded.telemetry);
      record.ranks = std::move(loaded.ranks);
    } else {
      record.segments.push_back({segment, std::move(loaded.ranks)});
    }
    if (record.end != AttemptEnd::completed) return record;
  }
  if (static_cast<std::size_t>(begun) < segments.size()) {
    record.end = AttemptEnd::lost;
    record.detail = fmt::format("{}: never began", to_string(segments[static_cast<std::size_t>(begun)]));
  }
  return record;
}

bool segment_is_completed(const fs::path& attempt_folder, const CellRequest& request, AttemptSegment segment) {
  const CellRequest of_segment = request_of_segment(request, segment);
  const AttemptFiles files = read_attempt_files(segment_folder(attempt_folder, segment), of_segment);
  return judge_attempt(files, std::nullopt, of_segment, {}).attempt.end == AttemptEnd::completed;
}

namespace {

template <class Change>
void for_each_rank(AttemptRecord& attempt, Change change) {
  for (std::size_t i = 0; i < attempt.ranks.size(); ++i) {
    change(attempt.ranks[i], AttemptSegment::whole, static_cast<int>(i));
  }
  for (SegmentRecord& segment : attempt.segments) {
    for (std::size_t i = 0; i < segment.ranks.size(); ++i) {
      change(segment.ranks[i], segment.segment, static_cast<int>(i));
    }
  }
}

constexpr std::int64_t kLargestInspectionBytes = 64 << 20;

// The inspection of a stack's image, where it is not the one that the plan names; empty: it is.
std::string changed_inspection(const fs::path& run_folder, const std::string& stack, const PlanImage& image) {
  const std::string name = "inputs/inspection-" + stack + ".json";
  const auto read = read_plain_file(run_folder / name, kLargestInspectionBytes);
  const auto* text = std::get_if<std::string>(&read);
  return text != nullptr && sha256_of_text(*text) == image.inspection_sha256 ? "" : name;
}

// What was said of an image is not known without the document that says it.
void hold_inspections(const fs::path& run_folder, Plan& plan) {
  for (auto& [stack, image] : plan.images) {
    const std::string changed = changed_inspection(run_folder, stack, image);
    if (changed.empty()) continue;
    image.inspection = "undecided";
    image.summary = changed + " is missing or changed";
  }
}

}  // namespace

void load_traces(AttemptRecord& attempt, const std::string& run_folder, const CellRequest& request) {
  CellRequest of_attempt = request;
  of_attempt.nonce = attempt.nonce;
  for_each_rank(attempt, [&](RankRecord& rank, AttemptSegment segment, int number) {
    if (rank.trace) return;
    const CellRequest of_segment = request_of_segment(of_attempt, segment);
    rank.trace = read_trace(fs::path(run_folder) / rank.folder / "trace.jsonl", of_segment.cell_id, of_segment.nonce,
                            first_step_of(of_segment), number);
    if (!rank.trace->problem.empty()) throw StoreError(rank.folder + ": " + rank.trace->problem);
  });
}

void drop_traces(AttemptRecord& attempt) {
  for_each_rank(attempt, [](RankRecord& rank, AttemptSegment, int) { rank.trace.reset(); });
}

RunRecord load_run(const std::string& run_folder) {
  const fs::path folder(run_folder);
  if (!fs::exists(folder / "run.json")) throw StoreError(run_folder + " is not a run directory: run.json is missing");
  RunRecord run;
  run.folder = run_folder;
  run.info = load_own(folder / "run.json", &run_info_from_document);
  run.plan = load_own(folder / "plan.json", &plan_from_json);
  hold_inspections(folder, run.plan);
  run.seal = seal_of_run(folder);

  std::map<std::string, std::size_t> cell_index;
  for (const PlannedCell& planned : run.plan.cells) {
    const std::string& cell_id = planned.cell.request.cell_id;
    if (!cell_index.emplace(cell_id, run.cells.size()).second) {
      throw StoreError((folder / "plan.json").string() + ": cell " + cell_id + " is planned twice");
    }
    run.cells.push_back({cell_id, {}});
  }
  const auto index_of = [&](const std::string& cell_id) {
    const auto found = cell_index.find(cell_id);
    if (found != cell_index.end()) return found->second;
    throw StoreError((folder / "journal.jsonl").string() + ": cell " + cell_id + " is not in plan.json");
  };
  const Journal journal = read_sealed_journal(folder, *run.seal);
  for (const CellDiagnosis& diagnosis : journal.diagnoses) {
    index_of(diagnosis.cell_id);
    run.diagnoses.emplace(diagnosis.cell_id, diagnosis);
  }
  std::vector<std::size_t> cell_of_attempt;
  for (const JournaledAttempt& entry : journal.attempts) cell_of_attempt.push_back(index_of(entry.cell_id));
  std::vector<AttemptRecord> attempts(journal.attempts.size());
  for_each_in_parallel(attempts.size(), [&](std::size_t i) {
    attempts[i] = load_journaled(folder, run.plan.cells[cell_of_attempt[i]].cell, journal.attempts[i]);
  });
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    run.cells[cell_of_attempt[i]].attempts.push_back(std::move(attempts[i]));
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
  for (const auto& [stack, image] : load_own(folder / "plan.json", &plan_from_json).images) {
    const std::string inspection = changed_inspection(folder, stack, image);
    if (!inspection.empty()) changed.push_back(inspection + " is missing or changed");
  }
  for (const JournaledAttempt& entry : read_sealed_journal(folder, seal_of_run(folder)).attempts) {
    if (!entry.files) continue;
    const std::string broken = broken_seal(folder / entry.folder, *entry.files);
    if (!broken.empty()) changed.push_back(entry.folder + "/" + broken);
  }
  return changed;
}

}  // namespace reprobench
