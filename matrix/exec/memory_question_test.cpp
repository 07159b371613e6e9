// What workers are asked before a run. The worker here is a shell that keeps the question and answers nothing.
#include "matrix/exec/memory_question.hpp"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "ci/catch.hpp"

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
  const auto kept =
      std::filesystem::temp_directory_path() / ("reprobench-question-" + std::to_string(getpid()) + ".json");
  Plan plan;
  plan.cells = {planned(20, 0), planned(20, 10), planned(30, 29)};
  WorkerCommand worker;
  worker.command = {"/bin/sh", "-c", "cp \"$1\" '" + kept.string() + "'; exit 1"};
  const auto needs = predicted_needs(plan, {{"a", worker}});
  REQUIRE(needs.size() == 3);
  CHECK(needs[1].why_not == "its worker cannot say");
  std::ifstream file(kept);
  const nlohmann::json questions = nlohmann::json::parse(file);
  std::filesystem::remove(kept);
  CHECK(questions.size() == 1);  // how long a training is, and where it is stopped, does not matter
  for (const nlohmann::json& question : questions) CHECK_NOTHROW(request_from_json(question));
}

}  // namespace
}  // namespace reprobench
