// The built binary on a machine whose GPUs the fake libnvidia-ml plays: plan, run, verdict and doctor.
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/exec/subprocess.hpp"
#include "matrix/host/fake_nvml_scene.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kGpuMatrix = R"(schema: 1
name: gpu
suites: [smoke]
axes:
  stack: [torch-2.9.0-cu128]
  device: [sm_90]
)";

// Without a second stack there is nothing to compare the speed with, so only what it was is on record.
constexpr const char* kTimedMatrix = R"(schema: 1
name: gpu
suites: [throughput]
axes:
  stack: [torch-2.9.0-cu128]
  device: [sm_90]
thresholds:
  numerics.beyond_rounding:
    - {gate: record_only}
  throughput.step_time:
    - {gate: record_only}
  throughput.mean_step_time:
    - {gate: record_only}
  throughput.start_to_first_step:
    - {gate: record_only}
  # As somebody would who has measured this class of card.
  device.utilisation:
    - {gate: armed, where: "device == sm_90"}
)";

// A host with this GPU, and a store.
struct GpuHost {
  explicit GpuHost(const json& gpu, const char* matrix = kGpuMatrix) : machine(json{{"gpus", json::array({gpu})}}) {
    std::ofstream(machine.folder / "matrix.yaml") << matrix;
    // An attempt's environment is its request's, so what the fake worker does to the fake GPU needs a way of its own.
    std::ofstream(machine.folder / "worker.sh")
        << "#!/bin/sh\nREPROBENCH_FAKE_NVML_COMMANDS=" << machine.commands().string()
        << " exec " REPROBENCH_BINARY_DIR "/reprobench-fake-worker \"$@\"\n";
    std::filesystem::permissions(machine.folder / "worker.sh", std::filesystem::perms::owner_all);
  }

  SubprocessResult call(std::vector<std::string> arguments) const {
    SubprocessOptions options;
    options.command = {REPROBENCH_BINARY_DIR "/reprobench", "--store", machine.folder / "store"};
    options.command.insert(options.command.end(), arguments.begin(), arguments.end());
    options.environment = inherited_environment();
    options.working_directory = std::filesystem::current_path();
    options.timeout = std::chrono::minutes(5);
    return run_subprocess(options);
  }

  // The only selected cell's verdict after a run with the fake worker.
  json cell(const std::string& behaviour = "paced=20", const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "run",
        "--no-report",
        "--json",
        "--matrix",
        machine.folder / "matrix.yaml",
        "--out",
        machine.folder / "run",
        "--worker",
        "torch-2.9.0-cu128=" + (machine.folder / "worker.sh").string() + " --do " + behaviour};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = call(arguments);
    INFO(result.err);
    const json verdict = json::parse(result.out);
    for (const json& cell : verdict.at("cells")) {
      if (cell.at("reason") != "deselected") return cell;
    }
    FAIL("every cell was left out");
    return {};
  }

  FakeNvmlScene machine;
  TemporaryVariable library{"REPROBENCH_NVML_LIBRARY", FakeNvmlScene::library()};
  TemporaryVariable locks{"REPROBENCH_LOCK_DIR", machine.folder};
};

TEST_CASE("a GPU cell runs on the host's GPU, watched, and its verdict says what the GPU did", "[e2e][gpu]") {
  const GpuHost host(fake_gpu("GPU-a"));
  const json cell = host.cell();
  CHECK(cell.at("outcome") == "passed");
  const json& attempt = cell.at("attempts").at(0);
  CHECK(attempt.at("telemetry").at("gpus").at(0).at("uuid") == "GPU-a");
  CHECK(attempt.at("telemetry").at("problem") == "");
  CHECK(attempt.at("telemetry").at("invalid_reason") == "");
  CHECK(attempt.at("telemetry").at("ranges").at("temperature_c").at("median") == 45);
  const auto file = host.machine.folder / "run" / attempt.at("folder").get<std::string>() / "telemetry.jsonl";
  CHECK(std::filesystem::file_size(file) > 1'000);
  const json plan = json::parse(read_file(host.machine.folder / "run" / "plan.json"));
  CHECK(plan.at("host").at("gpus").at(0).at("uuid") == "GPU-a");
  CHECK(plan.at("host").at("driver_cuda") == "12.8");
}

TEST_CASE("a throttled GPU is in the verdict and fails nothing", "[e2e][gpu]") {
  json gpu = fake_gpu("GPU-a");
  gpu["clock_events"] = 0x40;
  const json cell = GpuHost(gpu).cell();
  CHECK(cell.at("outcome") == "passed");  // the smoke suite measures no speed
  CHECK(cell.at("attempts").at(0).at("telemetry").at("invalid_reason") == "throttled");
}

const std::vector<std::string> kOneTimedCell = {"--workload", "gpt2", "--repeat", "1"};

json check_named(const json& cell, const std::string& metric) {
  for (const json& check : cell.at("checks")) {
    if (check.at("metric") == metric) return check;
  }
  return {};
}

TEST_CASE("a GPU at 97 % passes the throughput suite, one at 40 % fails it", "[e2e][gpu]") {
  const auto [percent, outcome] = GENERATE(table<int, std::string>({{97, "passed"}, {40, "failed"}}));
  json gpu = fake_gpu("GPU-a");
  gpu["utilisation_percent"] = percent;
  const json cell = GpuHost(gpu, kTimedMatrix).cell("paced=50", kOneTimedCell);
  const json check = check_named(cell, "device.utilisation");
  REQUIRE(check.is_object());
  INFO(check.at("sentence"));
  CHECK(check.at("status") == outcome);
  CHECK(check.at("measured") == Approx(percent / 100.0));
  CHECK(cell.at("outcome") == outcome);
}

TEST_CASE("a GPU that is throttled for a moment costs the steps of that moment", "[e2e][gpu]") {
  const GpuHost host(fake_gpu("GPU-a"), kTimedMatrix);
  const json cell = host.cell("clock_events=8,brief,paced=40", kOneTimedCell);
  REQUIRE(cell.at("attempts").size() == 1);  // not measured again
  const json& telemetry = cell.at("attempts").at(0).at("telemetry");
  CHECK(telemetry.at("invalid_reason") == "");
  CHECK(telemetry.at("timed_steps") == 30);
  CHECK(telemetry.at("steps_left_out").at("throttled") > 0);
  CHECK(telemetry.at("steps_left_out").at("throttled") < 15);
  CHECK(cell.at("outcome") == "passed");
  CHECK(telemetry.at("left_out_sentence").get<std::string>().find("(hw_slowdown)") != std::string::npos);
}

TEST_CASE("cells skip a GPU in MIG mode and say why", "[e2e][gpu]") {
  json gpu = fake_gpu("GPU-a");
  gpu["mig"] = 1;
  const json cell = GpuHost(gpu).cell();
  CHECK(cell.at("outcome") == "skipped");
  CHECK(cell.at("reason") == "device-class");
  CHECK(cell.at("sentence").get<std::string>().find("MIG mode is on") != std::string::npos);
}

TEST_CASE("doctor looks at the GPU and what surrounds it", "[e2e][gpu]") {
  json gpu = fake_gpu("GPU-a");
  gpu["persistence"] = 0;
  gpu["ecc_uncorrected"] = 3;
  const GpuHost host(gpu);
  const auto result = host.call({"doctor", "--json"});
  CHECK(result.exit_code == 1);
  std::map<std::string, std::string> findings;
  const json document = json::parse(result.out);
  for (const json& line : document.at("lines")) findings[line.at("check")] = line.at("finding");
  CHECK(findings.at("gpu") == "OK");
  CHECK(findings.at("persistence") == "WARN");
  CHECK(findings.at("ecc") == "FAIL");
  CHECK(findings.at("mig") == "OK");
  CHECK(findings.count("driver") == 1);
  CHECK(findings.count("/dev/shm") == 1);
  CHECK(findings.count("container toolkit") == 1);
}

}  // namespace
}  // namespace reprobench
