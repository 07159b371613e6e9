// What tests of the whole coordinator share: a folder with a store and a matrix, and the built binary run in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/exec/subprocess.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

inline const std::string kBinary = REPROBENCH_BINARY_DIR "/reprobench";
inline const std::string kFakeWorker = REPROBENCH_BINARY_DIR "/reprobench-fake-worker";

// Two wheel stacks on the CPU: what a test plants in the candidate is judged against the reference.
inline constexpr const char* kMatrix = R"(schema: 1
name: e2e
suites: [SUITES]
axes:
  stack: [torch-2.9.0-cu128, torch-2.8.0-cu128]
  device: [cpu]
reference: {stack: torch-2.8.0-cu128}
thresholds:
  throughput.step_time: {max_regression: 5%, vs: reference}
)";

class Workplace {
 public:
  Workplace() {
    unsetenv("REPROBENCH_STACKS");  // what is installed on this machine has no part in these tests
  }

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

  std::string matrix(const std::string& suites) const {
    std::string text = kMatrix;
    text.replace(text.find("SUITES"), 6, suites);
    // Its mlp trains 3000 steps seven times; gpt2's 40 say the same to these tests.
    if (suites == "throughput") text += "exclude: [{where: \"workload == mlp\"}]\n";
    if (suites.find("throughput") == std::string::npos) text.resize(text.find("thresholds:"));
    // Two workloads say what these tests ask; every model that is added to the suites would only make them longer.
    if (suites.starts_with("smoke") || suites.starts_with("determinism")) {
      text += "exclude: [{where: \"workload in (resnet, llama.tiny, llama.tiny-lora, clip, fusion, vlm)\"}]\n";
    }
    std::ofstream(folder_ / "matrix.yaml") << text;
    return folder_ / "matrix.yaml";
  }

  // `run` on the fake worker; `candidate` and `reference` are behaviours.
  std::vector<std::string> run_command(const std::string& suites, const std::string& candidate,
                                       const std::string& reference = "ok") const {
    return {kBinary,
            "--store",
            folder_ / "store",
            "run",
            "--no-report",
            "--matrix",
            matrix(suites),
            "--worker",
            "torch-2.9.0-cu128=" + kFakeWorker + " --do " + candidate,
            "--worker",
            "torch-2.8.0-cu128=" + kFakeWorker + " --do " + reference};
  }

  // The only run of the store.
  std::filesystem::path run_folder() const {
    std::vector<std::filesystem::path> runs;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "store" / "runs"))
      runs.push_back(entry.path());
    REQUIRE(runs.size() == 1);
    return runs.front();
  }

  nlohmann::json verdict() const { return nlohmann::json::parse(read_file(run_folder() / "verdict.json")); }

 private:
  TemporaryFolder place_;
  std::filesystem::path folder_ = place_.path;
};

inline SubprocessResult call(std::vector<std::string> command) {
  SubprocessOptions options;
  options.command = std::move(command);
  options.environment = inherited_environment();
  options.working_directory = std::filesystem::current_path();
  options.timeout = std::chrono::minutes(5);
  return run_subprocess(options);
}

// A cell's check of that metric, as verdict.json has it; there must be one.
inline nlohmann::json check_of(const nlohmann::json& cell, const std::string& metric) {
  for (const nlohmann::json& check : cell.at("checks")) {
    if (check.at("metric") == metric) return check;
  }
  FAIL("no check " << metric);
  return {};
}

// Of the cells that run on the candidate's stack the first.
inline nlohmann::json candidate_cell(const nlohmann::json& verdict) {
  for (const nlohmann::json& cell : verdict.at("cells")) {
    if (cell.at("coordinates").at("stack") == "torch-2.9.0-cu128") return cell;
  }
  FAIL("the verdict has no cell of the candidate");
  return {};
}

}  // namespace reprobench
