// The two documents about a run that only the coordinator writes: run.json and the lines of journal.jsonl.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/diagnosis.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/record/run_info.hpp"
#include "matrix/record/seal.hpp"

namespace reprobench {

struct RunDocument {
  RunInfo info;
};
template <>
struct Description<RunDocument> {
  static constexpr About about = About::document("run", "run.json: who ran what, when");
  static void fields(auto& field, RunDocument& run) { Description<RunInfo>::fields(field, run.info); }
};

nlohmann::json run_document(const RunInfo& info);

// Throws ContractError naming the field.
RunInfo run_info_from_document(const nlohmann::json& json);

// The lines of journal.jsonl: the coordinator's intents and their ends, in order.
struct JournalHeader {
  std::string run_id;
  std::string plan_sha256;
};
template <>
struct Description<JournalHeader> {
  static constexpr About about = About::first_line("journal", "header", "Once, first.");
  static void fields(auto& field, JournalHeader& header) {
    field("run_id", header.run_id);
    field("plan_sha256", header.plan_sha256, rule::hex(64).says("Of plan.json, which does not change."));
  }
};

struct JournalAttempt {
  std::string cell_id;
  int repeat = 0;
  int attempt = 0;
  std::string nonce;
};
void attempt_fields(auto& field, JournalAttempt& attempt) {
  field("cell_id", attempt.cell_id, rule::not_empty);
  field("repeat", attempt.repeat, rule::at_least(0));
  field("attempt", attempt.attempt, rule::at_least(0));
  field("nonce", attempt.nonce, rule::not_empty);
}

struct JournalBegin {
  JournalAttempt of;
  std::string folder;
};
template <>
struct Description<JournalBegin> {
  static constexpr About about = About::line("journal", "begin", "Written before an attempt is launched.");
  static void fields(auto& field, JournalBegin& begin) {
    attempt_fields(field, begin.of);
    field("folder", begin.folder);
  }
};

struct JournalEnd {
  JournalAttempt of;
  AttemptEnd end = AttemptEnd::lost;
  std::string detail;
  std::optional<int> rank = {};
  std::vector<SealedFile> files = {};
};
template <>
struct Description<JournalEnd> {
  static constexpr About about = About::line("journal", "end", "How the attempt ended.");
  static void fields(auto& field, JournalEnd& end) {
    attempt_fields(field, end.of);
    field("end", end.end);
    field("detail", end.detail);
    field.optional("rank", end.rank,
                   rule::at_least(0).says("The rank that ended the attempt, of an attempt with several."));
    field("files", end.files, "What the attempt left.");
  }
};

struct JournalFinish {
  bool interrupted = false;
};
template <>
struct Description<JournalFinish> {
  static constexpr About about = About::line("journal", "finish", "Once, last.");
  static void fields(auto& field, JournalFinish& finish) { field("interrupted", finish.interrupted); }
};

struct JournalVerdict {
  std::string sha256;
};
template <>
struct Description<JournalVerdict> {
  static constexpr About about = About::line("journal", "verdict", "After `finish`, each time the run is judged.");
  static void fields(auto& field, JournalVerdict& verdict) {
    field("sha256", verdict.sha256, rule::hex(64).says("Of verdict.json."));
  }
};

// The journal's record of one attempt.
struct JournaledAttempt {
  std::string cell_id;
  int repeat = 0;
  int attempt = 0;
  std::string nonce;
  std::string folder;             // relative to the run directory
  std::optional<AttemptEnd> end;  // nothing: the runner died first
  std::string detail;
  std::optional<int> rank;                       // which of several ranks ended it
  std::optional<std::vector<SealedFile>> files;  // nothing: the runner died first
};

struct Journal {
  std::string plan_sha256;
  std::string verdict_sha256;              // of the last verdict; empty: the run was not judged
  std::vector<JournaledAttempt> attempts;  // in the order in which they began
  std::vector<CellDiagnosis> diagnoses;
};

// Leaves out a last line that was cut because the runner was killed while writing it. Throws StoreError for damage
// anywhere else, and for an attempt that has a second end, or the nonce of another.
Journal read_journal(const std::filesystem::path& path);

}  // namespace reprobench
