#include "matrix/exec/kept_document.hpp"

#include <string>
#include <system_error>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/pending_file.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/base/sha256.hpp"

namespace reprobench {

KeptDocument read_kept_document(const std::filesystem::path& file, std::int64_t most_bytes) {
  constexpr std::size_t kDigestLetters = 64;
  KeptDocument kept{nlohmann::json::value_t::discarded, true};
  const FileText read = read_regular_file(file, most_bytes);
  if (read.problem == "missing") return {nlohmann::json::value_t::discarded, false};
  if (!read.problem.empty() || read.text.size() <= kDigestLetters) return kept;
  const std::string document = read.text.substr(kDigestLetters);
  if (read.text.substr(0, kDigestLetters) != sha256_of_text(document)) return kept;
  ParsedJson parsed = parse_json(document);
  if (!parsed.problem.empty()) return kept;
  return {std::move(parsed.value), false};
}

bool keep_document(const std::filesystem::path& file, const nlohmann::json& document) {
  const std::string text = "\n" + document.dump() + "\n";
  try {
    PendingFile pending(file, 0644);
    pending.append(sha256_of_text(text) + text);
    pending.publish();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

}  // namespace reprobench
