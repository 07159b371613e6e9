#include "matrix/record/run_documents.hpp"

#include <algorithm>

#include "matrix/contract/document/reader.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

std::string take_end(const JournalEnd& end, std::vector<JournaledAttempt>& attempts) {
  // The end of an attempt is near its begin, and the begin near the end of the list.
  const auto found = std::find_if(attempts.rbegin(), attempts.rend(),
                                  [&](const auto& attempt) { return attempt.nonce == end.of.nonce; });
  if (found == attempts.rend()) return "end of an attempt that never began, nonce " + end.of.nonce;
  found->end = end.end;
  found->detail = end.detail;
  found->rank = end.rank;
  return "";
}

std::string take_entry(const json& entry, std::vector<JournaledAttempt>& attempts) {
  try {
    const std::string kind = entry.value("kind", "");
    if (kind == "begin") {
      const auto begin = read_document<JournalBegin>(entry);
      const JournalAttempt& of = begin.of;
      attempts.push_back({of.cell_id, of.repeat, of.attempt, of.nonce, begin.folder, std::nullopt, "", std::nullopt});
    } else if (kind == "end") {
      return take_end(read_document<JournalEnd>(entry), attempts);
    } else if (kind == "header") {
      read_document<JournalHeader>(entry);
    } else if (kind == "finish") {
      read_document<JournalFinish>(entry);
    } else {
      return "unknown kind `" + kind + "`";
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

json to_json(const RunInfo& info) { return written(info); }
json run_document(const RunInfo& info) { return written(RunDocument{info}); }
RunInfo run_info_from_document(const json& object) { return read_document<RunDocument>(object).info; }

std::vector<JournaledAttempt> read_journal(const std::filesystem::path& path) {
  std::vector<JournaledAttempt> attempts;
  const LinesRead read = read_checked_lines(path, [&](const json& entry) { return take_entry(entry, attempts); });
  if (!read.problem.empty() && !read.torn_tail) throw StoreError(read.problem);
  return attempts;
}

}  // namespace reprobench
