#include "matrix/record/run_documents.hpp"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "matrix/contract/document/reader.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

// Takes the lines of one journal in order; every member returns what is wrong with a line, or nothing.
class JournalBuilder {
 public:
  std::string accept(const json& entry) {
    try {
      const std::string kind = entry.value("kind", "");
      if (kind == "header") return accept_header(entry);
      if (!has_header_) return "`" + kind + "` comes before the header";
      if (kind == "begin") return accept_begin(read_document<JournalBegin>(entry));
      if (kind == "end") return accept_end(read_document<JournalEnd>(entry));
      if (kind == "diagnosis") return accept_diagnosis(read_document<CellDiagnosis>(entry));
      if (kind == "verdict") return accept_verdict(read_document<JournalVerdict>(entry));
      if (kind != "finish") return "unknown kind `" + kind + "`";
      read_document<JournalFinish>(entry);
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  Journal take() { return std::move(journal_); }

 private:
  std::string accept_header(const json& entry) {
    if (has_header_) return "a second header";
    journal_.plan_sha256 = read_document<JournalHeader>(entry).plan_sha256;
    has_header_ = true;
    return "";
  }

  std::string accept_verdict(const JournalVerdict& verdict) {
    journal_.verdict_sha256 = verdict.sha256;
    return "";
  }

  std::string accept_diagnosis(CellDiagnosis diagnosis) {
    const std::string& id = diagnosis.cell_id;
    if (!diagnosed_.insert(id).second) return "a second diagnosis of cell " + id;
    journal_.diagnoses.push_back(std::move(diagnosis));
    return "";
  }

  std::string accept_begin(const JournalBegin& begin) {
    const JournalAttempt& of = begin.of;
    if (!index_of_.emplace(of.nonce, journal_.attempts.size()).second) return "a second attempt of nonce " + of.nonce;
    journal_.attempts.push_back(
        {of.cell_id, of.repeat, of.attempt, of.nonce, begin.folder, std::nullopt, "", std::nullopt, std::nullopt});
    return "";
  }

  std::string accept_end(const JournalEnd& end) {
    const auto found = index_of_.find(end.of.nonce);
    if (found == index_of_.end()) return "end of an attempt that never began, nonce " + end.of.nonce;
    JournaledAttempt& attempt = journal_.attempts[found->second];
    if (attempt.end) return "a second end of the attempt of nonce " + end.of.nonce;
    attempt.end = end.end;
    attempt.detail = end.detail;
    attempt.rank = end.rank;
    attempt.files = end.files;
    return "";
  }

  Journal journal_;
  std::unordered_map<std::string, std::size_t> index_of_;  // by nonce
  std::unordered_set<std::string> diagnosed_;              // by cell
  bool has_header_ = false;
};

}  // namespace

json to_json(const RunInfo& info) { return written(info); }
json run_document(const RunInfo& info) { return written(RunDocument{info}); }
RunInfo run_info_from_document(const json& object) { return read_document<RunDocument>(object).info; }

Journal read_journal(const std::filesystem::path& path) {
  JournalBuilder builder;
  const LinesRead read = read_checked_lines(path, [&](const json& entry) { return builder.accept(entry); });
  // "STORE/runs/r-1/journal.jsonl:8: checksum is ...": of several runs it is said whose.
  if (!read.problem.empty() && !read.torn_tail) throw StoreError((path.parent_path() / read.problem).string());
  return builder.take();
}

}  // namespace reprobench
