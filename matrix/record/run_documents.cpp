#include "matrix/record/run_documents.hpp"

#include <algorithm>

#include "matrix/contract/json_field.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

JournaledAttempt begun_attempt(const json& entry) {
  JournaledAttempt attempt;
  attempt.cell_id = required<std::string>("journal", entry, "cell_id");
  attempt.repeat = required<int>("journal", entry, "repeat");
  attempt.attempt = required<int>("journal", entry, "attempt");
  attempt.nonce = required<std::string>("journal", entry, "nonce");
  attempt.folder = required<std::string>("journal", entry, "folder");
  return attempt;
}

std::string take_end(const json& entry, std::vector<JournaledAttempt>& attempts) {
  const auto nonce = required<std::string>("journal", entry, "nonce");
  // The end of an attempt is near its begin, and the begin near the end of the list.
  const auto found =
      std::find_if(attempts.rbegin(), attempts.rend(), [&](const auto& attempt) { return attempt.nonce == nonce; });
  if (found == attempts.rend()) return "end of an attempt that never began, nonce " + nonce;
  found->end = attempt_end_from(required<std::string>("journal", entry, "end"));
  if (!found->end) return "`end` is not the end of an attempt";
  found->detail = required<std::string>("journal", entry, "detail");
  found->rank = optional_field<int>("journal", entry, "rank");
  return "";
}

std::string take_entry(const json& entry, std::vector<JournaledAttempt>& attempts) {
  try {
    const auto kind = required<std::string>("journal", entry, "kind");
    if (kind == "begin") {
      attempts.push_back(begun_attempt(entry));
    } else if (kind == "end") {
      return take_end(entry, attempts);
    } else if (kind == "header") {
      require_document(entry, "journal");
    } else if (kind != "finish") {
      return "unknown kind `" + kind + "`";
    }
    return "";
  } catch (const ContractError& error) {
    return error.what();
  }
}

}  // namespace

json run_document(const RunInfo& info) {
  json object = document("run");
  object.update(to_json(info));
  return object;
}

RunInfo run_info_from_document(const json& object) {
  require_document(object, "run");
  return run_info_from_json(object);
}

std::vector<JournaledAttempt> read_journal(const std::filesystem::path& path) {
  std::vector<JournaledAttempt> attempts;
  const LinesRead read = read_checked_lines(path, [&](const json& entry) { return take_entry(entry, attempts); });
  if (!read.problem.empty() && !read.torn_tail) throw StoreError(read.problem);
  return attempts;
}

}  // namespace reprobench
