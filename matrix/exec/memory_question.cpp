#include "matrix/exec/memory_question.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "matrix/contract/version.hpp"
#include "matrix/exec/subprocess.hpp"

namespace reprobench {
namespace {

constexpr std::chrono::seconds kTimeout{30};
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// A file of this process alone, gone with its owner.
class QuestionFile {
 public:
  explicit QuestionFile(const nlohmann::json& requests) {
    std::string path = (std::filesystem::temp_directory_path() / "reprobench-requests-XXXXXX").string();
    const int descriptor = mkstemp(path.data());
    if (descriptor < 0) return;
    close(descriptor);
    path_ = path;
    std::ofstream(path_) << requests.dump();
  }
  QuestionFile(const QuestionFile&) = delete;
  QuestionFile& operator=(const QuestionFile&) = delete;
  ~QuestionFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<AttemptMemory> unanswered(std::size_t count, const std::string& why) {
  AttemptMemory need;
  need.why_not = why;
  return std::vector<AttemptMemory>(count, need);
}

}  // namespace

CellRequest memory_question(const CellRequest& request) {
  CellRequest question;
  question.cell_id = question.suite = "question";
  question.nonce = "0000000000000000";
  question.stack = request.stack;
  question.device = request.device;
  question.world_size = request.world_size;
  question.knobs = with_defaults(request.knobs);
  question.trace = request.trace;
  question.workload = request.workload;
  question.workload.steps = 1;  // nor does it matter where it is stopped and gone on with
  question.workload.resume_after = 0;
  question.workload.resume_world_size = 0;
  return question;
}

std::vector<AttemptMemory> predicted_needs(const std::vector<CellRequest>& requests, const WorkerCommand& worker) {
  nlohmann::json list = nlohmann::json::array();
  for (const CellRequest& request : requests) list.push_back(to_json(memory_question(request)));
  const QuestionFile file(list);
  SubprocessOptions options;
  options.command = worker.command;
  options.command.insert(options.command.end(), {"predict", file.path().string()});
  options.environment = inherited_environment();
  for (const auto& [name, value] : worker.environment) (*options.environment)[name] = value;
  options.timeout = kTimeout;
  options.capture_bytes = kMostBytes;
  const SubprocessResult result = run_subprocess(options);
  if (result.exit_code != 0) return unanswered(requests.size(), "its worker cannot say");
  try {
    const nlohmann::json answer = nlohmann::json::parse(result.out, nullptr, false);
    if (answer.is_discarded()) throw ContractError("no JSON");
    MemoryPredictions predictions = memory_predictions_from_json(answer);
    if (predictions.needs.size() == requests.size()) return std::move(predictions.needs);
    return unanswered(requests.size(), "its worker answered another question");
  } catch (const ContractError& error) {
    return unanswered(requests.size(), fmt::format("its worker's answer: {}", error.what()));
  }
}

std::vector<AttemptMemory> predicted_needs(const Plan& plan, const std::map<std::string, WorkerCommand>& workers) {
  struct Asked {
    std::vector<CellRequest> requests;
    std::map<std::string, std::size_t> place_of;  // by question
    std::vector<AttemptMemory> answers;
  };
  std::map<std::string, Asked> by_stack;
  std::vector<std::size_t> places(plan.cells.size(), 0);
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    if (plan.cells[i].skip || workers.count(plan.cells[i].cell.request.stack) == 0) continue;
    CellRequest question = memory_question(plan.cells[i].cell.request);
    Asked& asked = by_stack[question.stack];
    const auto [place, is_new] = asked.place_of.emplace(to_json(question).dump(), asked.requests.size());
    if (is_new) asked.requests.push_back(std::move(question));
    places[i] = place->second;
  }
  for (auto& [stack, asked] : by_stack) asked.answers = predicted_needs(asked.requests, workers.at(stack));

  std::vector<AttemptMemory> needs;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const auto asked = by_stack.find(plan.cells[i].cell.request.stack);
    if (plan.cells[i].skip) {
      needs.push_back(unanswered(1, "skipped").front());
    } else if (asked == by_stack.end()) {
      needs.push_back(unanswered(1, "stack not installed").front());
    } else {
      needs.push_back(asked->second.answers[places[i]]);
    }
  }
  return needs;
}

}  // namespace reprobench
