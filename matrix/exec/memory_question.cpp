#include "matrix/exec/memory_question.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <unordered_map>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/base/contract_error.hpp"
#include "matrix/base/file_descriptor.hpp"
#include "matrix/base/json_parse.hpp"
#include "matrix/contract/document/text_writer.hpp"
#include "matrix/exec/driver_path.hpp"
#include "matrix/exec/helper_environment.hpp"
#include "matrix/exec/kept_predictions.hpp"
#include "matrix/exec/subprocess.hpp"

namespace reprobench {
namespace {

constexpr std::chrono::seconds kTimeout{30};
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

constexpr const char* kQuestionName = "reprobench-requests-";

// Questions of processes that were killed. A question is locked while its owner lives, so no other's is taken away.
void remove_abandoned_questions(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kQuestionName)) continue;
    const FileDescriptor file(open(entry->path().c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!file.is_open() || fstat(file.get(), &status) != 0) continue;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;
    unlink(entry->path().c_str());
  }
}

// A file of this process alone, gone with its owner.
class QuestionFile {
 public:
  explicit QuestionFile(const nlohmann::json& requests) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    remove_abandoned_questions(folder);
    std::string path = (folder / (std::string(kQuestionName) + "XXXXXX")).string();
    lock_ = FileDescriptor(mkostemp(path.data(), O_CLOEXEC));
    struct stat status {};
    // Another process that looked before it was locked has removed it: the question is not answered then.
    if (!lock_.is_open() || flock(lock_.get(), LOCK_EX) != 0 || fstat(lock_.get(), &status) != 0) return;
    if (status.st_nlink == 0) return;
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
  FileDescriptor lock_;
};

AttemptMemory unanswered(std::string why) {
  AttemptMemory need;
  need.why_not = std::move(why);
  return need;
}

// A question with those knobs alone that are not at their default.
CellRequest lean_question(const CellRequest& request) {
  CellRequest question;
  question.stack = request.stack;
  question.device = request.device;
  question.world_size = request.world_size;
  question.knobs = without_defaults(request.knobs);
  question.knobs.erase(std::string(knob_for<&Settings::seed>().name));  // other random numbers are as many
  question.trace = request.trace;
  question.workload = request.workload;
  question.workload.steps = 1;  // nor does it matter where it is stopped and resumed
  question.workload.resume_after = 0;
  question.workload.resume_world_size = 0;
  return question;
}

// Equal for equal questions.
std::string text_of(CellRequest lean) {
  JsonText json;
  write_text_fields(json, [&](auto& field) {
    canonical_fields(field, lean);
    file_fields(field, lean.workload);
  });
  return json.text();
}

bool has_own_files(const WorkloadRequest& workload) {
  return std::ranges::any_of(kOwnFiles, [&](const OwnFileField& own) { return !(workload.*own.sha256).empty(); });
}

// The worker's answers now; if it gives none, `problem` says why.
std::vector<AttemptMemory> asked_now(const nlohmann::json& questions, const WorkerCommand& worker,
                                     std::string& problem) {
  const QuestionFile file(questions);
  SubprocessOptions options;
  options.command = worker.command;
  options.command.insert(options.command.end(), {"predict", file.path().string()});
  options.environment = helper_environment();
  for (const auto& [name, value] : worker.environment) (*options.environment)[name] = value;
  add_driver_path(*options.environment, worker.enclosure);
  enclose(options, worker.enclosure, {.readable = {file.path()}, .writable = {}});
  options.timeout = kTimeout;
  options.capture_bytes = kMostBytes;
  const SubprocessResult result = run_subprocess(options);
  if (result.exit_code != 0) {
    problem = "its worker cannot say";
    return {};
  }
  try {
    const nlohmann::json answer = json_or_discarded(result.out);
    if (answer.is_discarded()) throw ContractError("no JSON");
    MemoryPredictions predictions = memory_predictions_from_json(answer);
    if (predictions.needs.size() == questions.size()) return std::move(predictions.needs);
    problem = "its worker answered another question";
  } catch (const ContractError& error) {
    problem = fmt::format("its worker's answer: {}", error.what());
  }
  return {};
}

}  // namespace

CellRequest memory_question(const CellRequest& request) {
  CellRequest question = lean_question(request);
  question.cell_id = question.suite = "question";
  question.nonce = "0000000000000000";
  question.knobs = with_defaults(question.knobs);
  return question;
}

std::vector<AttemptMemory> predicted_needs(const std::vector<CellRequest>& requests, const WorkerCommand& worker) {
  KeptPredictions kept(worker);
  std::vector<AttemptMemory> needs(requests.size());
  nlohmann::json questions = nlohmann::json::array();
  std::vector<std::size_t> asked;  // whose they are
  for (std::size_t i = 0; i < requests.size(); ++i) {
    nlohmann::json question = to_json(memory_question(requests[i]));
    if (const AttemptMemory* known = kept.find(question.dump())) {
      needs[i] = *known;
    } else {
      questions.push_back(std::move(question));
      asked.push_back(i);
    }
  }
  if (asked.empty()) return needs;
  std::string problem;
  const std::vector<AttemptMemory> answers = asked_now(questions, worker, problem);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    needs[asked[i]] = problem.empty() ? answers.at(i) : unanswered(problem);
    if (problem.empty() && !has_own_files(requests[asked[i]].workload)) kept.add(questions[i].dump(), answers[i]);
  }
  kept.write();
  return needs;
}

CellNeeds predicted_needs(const Plan& plan, const std::map<std::string, WorkerCommand>& workers) {
  struct Asked {
    std::vector<CellRequest> requests;
    std::vector<std::size_t> places;  // of their answers among all needs
  };
  CellNeeds needs;
  needs.of_cell.reserve(plan.cells.size());
  const std::size_t skipped = needs.add(unanswered("skipped"));
  const std::size_t not_installed = needs.add(unanswered("stack not installed"));
  std::map<std::string, Asked> by_stack;
  std::unordered_map<std::string, std::size_t> place_of;  // by question
  for (const PlannedCell& planned : plan.cells) {
    const CellRequest& request = planned.cell.request;
    if (planned.skip || !workers.contains(request.stack)) {
      needs.of_cell.push_back(planned.skip ? skipped : not_installed);
      continue;
    }
    const auto [place, is_new] = place_of.try_emplace(text_of(lean_question(request)), needs.distinct.size());
    if (is_new) {
      Asked& asked = by_stack[request.stack];
      asked.requests.push_back(request);
      asked.places.push_back(needs.add({}));
    }
    needs.of_cell.push_back(place->second);
  }
  for (const auto& [stack, asked] : by_stack) {
    std::vector<AttemptMemory> answers = predicted_needs(asked.requests, workers.at(stack));
    for (std::size_t i = 0; i < answers.size(); ++i) needs.distinct[asked.places[i]] = std::move(answers[i]);
  }
  return needs;
}

}  // namespace reprobench
