// What workers are asked before a run. The worker here is a shell that keeps the question and answers nothing.
#include "matrix/exec/memory_question.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

PlannedCell planned(std::int64_t steps, std::int64_t resume_after) {
  PlannedCell cell;
  cell.cell.request.stack = "a";
  cell.cell.request.device = "cpu";
  cell.cell.request.workload = {"mlp", "base", steps, 32};
  cell.cell.request.workload.resume_after = resume_after;
  return cell;
}

TEST_CASE("every question to a worker is a request that it can read", "[exec]") {
  const TemporaryFolder folder;
  const auto kept = folder.path / "question.json";
  Plan plan;
  plan.cells = {planned(20, 0), planned(20, 10), planned(30, 29)};
  WorkerCommand worker;
  worker.command = {"/bin/sh", "-c", "cp \"$1\" '" + kept.string() + "'; exit 1"};
  const auto needs = predicted_needs(plan, {{"a", worker}});
  REQUIRE(needs.of_cell.size() == 3);
  CHECK(needs.at(1).why_not == "its worker cannot say");
  std::ifstream file(kept);
  const nlohmann::json questions = nlohmann::json::parse(file);
  CHECK(questions.size() == 1);  // how long a training is, and where it is stopped, does not matter
  for (const nlohmann::json& question : questions) CHECK_NOTHROW(request_from_json(question));
}

TEST_CASE("#41: a question that a killed process left is removed by the next, and one that is being asked is not",
          "[exec]") {
  const auto folder = std::filesystem::temp_directory_path();
  const auto left = folder / ("reprobench-requests-left" + std::to_string(getpid()));
  const auto asked = folder / ("reprobench-requests-asked" + std::to_string(getpid()));
  std::ofstream(left) << "[]";
  const int owner = open(asked.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(flock(owner, LOCK_EX) == 0);
  WorkerCommand worker;
  worker.command = {"/bin/false"};
  predicted_needs({planned(20, 0).cell.request}, worker);
  CHECK_FALSE(std::filesystem::exists(left));
  CHECK(std::filesystem::exists(asked));
  close(owner);
  std::filesystem::remove(asked);
}

TEST_CASE("of a stack that is not installed nobody knows what its cells take", "[exec]") {
  Plan plan;
  plan.cells = {planned(20, 0), planned(20, 0)};
  plan.cells[1].skip = Skip{"device-class", "needs a GPU"};
  const auto needs = predicted_needs(plan, {});
  REQUIRE(needs.of_cell.size() == 2);
  CHECK(needs.at(0).why_not == "stack not installed");
  CHECK(needs.at(1).why_not == "skipped");
}

// What a worker that answers this, with this exit code, is said to need for two questions.
std::vector<AttemptMemory> needs_of_answer(const std::string& answer, const std::string& exit_code = "0") {
  WorkerCommand worker;
  worker.command = {"/bin/sh", "-c", "printf '%s' \"$ANSWER\"; exit $CODE", "sh"};
  worker.environment = {{"ANSWER", answer}, {"CODE", exit_code}};
  return predicted_needs({planned(20, 0).cell.request, planned(20, 0).cell.request}, worker);
}

std::string answer_of(std::vector<AttemptMemory> needs) {
  MemoryPredictions predictions;
  predictions.needs = std::move(needs);
  return to_json(predictions).dump();
}

AttemptMemory need_of(std::int64_t bytes) {
  AttemptMemory need;
  need.parameter_bytes = bytes;
  return need;
}

TEST_CASE("a worker's answers are taken in the order of the questions", "[exec]") {
  const auto needs = needs_of_answer(answer_of({need_of(11), need_of(22)}));
  REQUIRE(needs.size() == 2);
  CHECK(needs[0].parameter_bytes == 11);
  CHECK(needs[1].parameter_bytes == 22);
  CHECK(needs[1].is_predicted());
}

TEST_CASE("a worker that is asked finds the driver as one that trains does, and nothing else of the shell's path",
          "[exec]") {
  namespace fs = std::filesystem;
  const TemporaryFolder place;
  const fs::path& folder = place.path;
  std::ofstream(folder / "libcuda.so.1") << "\x7f"
                                            "ELF\x02";
  const TemporaryVariable searched("LD_LIBRARY_PATH", "/nowhere:" + folder.string());
  WorkerCommand worker;
  worker.command = {"/bin/sh", "-c", "printf '%s' \"$LD_LIBRARY_PATH\" >\"$SEEN\"; exit 1", "sh"};
  worker.environment = {{"SEEN", (folder / "seen").string()}, {"LD_LIBRARY_PATH", "/stack/lib"}};
  predicted_needs({planned(20, 0).cell.request}, worker);
  std::string seen;
  std::getline(std::ifstream(folder / "seen"), seen);
  CHECK(seen == "/stack/lib:" + folder.string());
}

// A plan of 100,000 cells may have as many questions; white space stands for what each answer takes.
TEST_CASE("an answer of many megabytes is read", "[exec]") {
  const auto needs_after = [](int megabytes) {
    WorkerCommand worker;
    worker.command = {"/bin/sh", "-c", "head -c $((MEGABYTES << 20)) /dev/zero | tr '\\0' ' '; printf '%s' \"$ANSWER\"",
                      "sh"};
    worker.environment = {{"ANSWER", answer_of({need_of(11)})}, {"MEGABYTES", std::to_string(megabytes)}};
    return predicted_needs({planned(20, 0).cell.request}, worker).at(0);
  };
  CHECK(needs_after(8).parameter_bytes == 11);
}

TEST_CASE("an answer that is none is said to be none, for every question", "[exec]") {
  const std::string good = answer_of({need_of(11), need_of(22)});
  const auto why = [](const std::vector<AttemptMemory>& needs) {
    REQUIRE(needs.size() == 2);
    CHECK(needs[0].why_not == needs[1].why_not);
    CHECK(needs[0].total() == 0);
    return needs[1].why_not;
  };
  CHECK(why(needs_of_answer(good, "3")) == "its worker cannot say");
  CHECK(why(needs_of_answer(answer_of({need_of(11)}))) == "its worker answered another question");
  CHECK(why(needs_of_answer(good.substr(1))) == "its worker's answer: no JSON");
  CHECK(why(needs_of_answer("{}")).starts_with("its worker's answer: "));
}

TEST_CASE("a plan's cells are answered by their own stack, each question once, skipped cells not at all", "[exec]") {
  const auto answers = [](std::vector<AttemptMemory> needs) {
    WorkerCommand worker;
    worker.command = {"/bin/sh", "-c", "printf '%s' \"$ANSWER\"", "sh"};
    worker.environment = {{"ANSWER", answer_of(std::move(needs))}};
    return worker;
  };
  Plan plan;
  plan.cells = {planned(20, 0), planned(20, 0), planned(20, 0), planned(20, 0), planned(20, 0)};
  plan.cells[1].cell.request.stack = "b";
  plan.cells[2].cell.request.workload.batch_size = 64;
  plan.cells[3].skip = Skip{"device-class", "no such device"};
  plan.cells[3].cell.request.stack = "of nobody";
  const auto needs = predicted_needs(plan, {{"a", answers({need_of(11), need_of(22)})}, {"b", answers({need_of(33)})}});
  REQUIRE(needs.of_cell.size() == 5);
  CHECK(needs.at(0).parameter_bytes == 11);
  CHECK(needs.at(1).parameter_bytes == 33);
  CHECK(needs.at(2).parameter_bytes == 22);
  CHECK(needs.at(3).why_not == "skipped");
  CHECK(needs.at(4).parameter_bytes == 11);
}

// How often the worker of these cells, all of stack "a", is asked: its shell keeps the questions.
std::size_t questions_of(const std::vector<PlannedCell>& cells) {
  const TemporaryFolder folder;
  const auto kept = folder.path / "questions.json";
  Plan plan;
  plan.cells = cells;
  WorkerCommand worker;
  worker.command = {"/bin/sh", "-c", "cp \"$1\" '" + kept.string() + "'; exit 1"};
  predicted_needs(plan, {{"a", worker}});
  std::ifstream file(kept);
  return nlohmann::json::parse(file).size();
}

TEST_CASE("cells that differ in their seed are one question, in whatever else changes memory they are two", "[exec]") {
  std::vector<PlannedCell> cells(3, planned(20, 0));
  cells[1].cell.request.knobs["seed"] = "7";
  cells[2].cell.request.knobs["threads"] = "1";  // its default
  CHECK(questions_of(cells) == 1);
  const auto changes = std::to_array<void (*)(CellRequest&)>({
      [](CellRequest& request) { request.knobs["allocator"] = "mapped"; },
      [](CellRequest& request) { request.trace = TraceLevel::tensor; },
      [](CellRequest& request) { request.device = "sm_90"; },
      [](CellRequest& request) { request.world_size = 2; },
      [](CellRequest& request) { request.workload.preset = "wide"; },
      [](CellRequest& request) { request.workload.batch_size = 33; },
      [](CellRequest& request) {
        request.workload.weights_sha256 = std::string(64, 'a');
        request.workload.weights_file = "/weights";
      },
  });
  for (const auto change : changes) {
    cells[1] = cells[0];
    change(cells[1].cell.request);
    CAPTURE(to_json(cells[1].cell.request).dump());
    CHECK(questions_of(cells) == 2);
  }
  cells[2] = cells[1];
  cells[2].cell.request.workload.weights_file = "/elsewhere";
  CHECK(questions_of(cells) == 3);
}

}  // namespace
}  // namespace reprobench
