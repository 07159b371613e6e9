#include "matrix/exec/kept_predictions.hpp"

#include <vector>

#include <fmt/format.h>

#include "matrix/base/sha256.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/exec/kept_document.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

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

void KeptPredictions::read() {
  constexpr std::int64_t kLargestBytes = 64 << 20;
  const nlohmann::json document = read_kept_document(file_, kLargestBytes).value;
  if (document.is_discarded()) return;
  try {
    if (document.at("worker") != worker_) return;
    const auto questions = document.at("questions").get<std::vector<std::string>>();
    const MemoryPredictions answers = memory_predictions_from_json(document.at("answers"));
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
  keep_document(file_, {{"worker", worker_}, {"questions", questions}, {"answers", to_json(answers)}});
}

}  // namespace reprobench
