#include "matrix/exec/kept_predictions.hpp"

#include <chrono>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/pending_file.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/contract/document/writer.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigestLetters = 64;

}  // namespace

std::string answering_worker(const WorkerCommand& worker) {
  std::error_code missing;
  const fs::path program = worker.command.empty() ? "" : worker.command.front();
  const auto size_bytes = fs::file_size(program, missing);
  if (missing) return "";
  const auto changed = fs::last_write_time(program, missing);
  if (missing) return "";
  std::string text = fmt::format("{}\n{}\n", size_bytes, changed.time_since_epoch().count());
  for (const std::string& word : worker.command) text += word + '\0';
  for (const auto& [name, value] : worker.environment) text += name + '=' + value + '\0';
  if (worker.enclosure) text += "inside " + worker.enclosure->root.string() + '\0';
  return sha256_of_text(text);
}

KeptPredictions::KeptPredictions(const WorkerCommand& worker) {
  if (worker.kept_answers.empty()) return;
  worker_ = answering_worker(worker);
  if (worker_.empty()) return;
  file_ = worker.kept_answers / kFileName;
  read();
}

// The digest of all that follows it, an end of line, and the document.
void KeptPredictions::read() {
  constexpr std::int64_t kLargestBytes = 64 << 20;
  const std::string text = read_regular_file(file_, kLargestBytes).text;
  if (text.size() <= kDigestLetters) return;
  const std::string document = text.substr(kDigestLetters);
  if (text.substr(0, kDigestLetters) != sha256_of_text(document)) return;
  try {
    const ParsedJson parsed = parse_json(document);
    if (!parsed.problem.empty() || parsed.value.at("worker") != worker_) return;
    const auto questions = parsed.value.at("questions").get<std::vector<std::string>>();
    const MemoryPredictions answers = memory_predictions_from_json(parsed.value.at("answers"));
    if (questions.size() != answers.needs.size()) return;
    for (std::size_t i = 0; i < questions.size(); ++i) needs_.emplace(questions[i], answers.needs[i]);
  } catch (const ContractError&) {  // of an older contract
    needs_.clear();
  } catch (const nlohmann::json::exception&) {
    needs_.clear();
  }
}

const AttemptMemory* KeptPredictions::find(const std::string& question) const {
  if (needs_.empty()) return nullptr;
  const auto found = needs_.find(sha256_of_text(question));
  return found == needs_.end() ? nullptr : &found->second;
}

void KeptPredictions::add(const std::string& question, const AttemptMemory& need) {
  if (file_.empty() || needs_.size() >= kMost) return;
  is_changed_ = needs_.emplace(sha256_of_text(question), need).second || is_changed_;
}

void KeptPredictions::write() const {
  if (!is_changed_) return;
  nlohmann::json questions = nlohmann::json::array();
  MemoryPredictions answers;
  for (const auto& [question, need] : needs_) {
    questions.push_back(question);
    answers.needs.push_back(need);
  }
  const nlohmann::json document = {{"worker", worker_}, {"questions", questions}, {"answers", to_json(answers)}};
  const std::string text = "\n" + document.dump() + "\n";
  try {
    PendingFile file(file_, 0644);
    file.append(sha256_of_text(text) + text);
    file.publish();
  } catch (const std::system_error&) {
    return;
  }
}

}  // namespace reprobench
