// The built binary on a machine whose GPUs the fake libnvidia-ml plays: plan, run, verdict and doctor.
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "ci/catch.hpp"
#include "matrix/device/fake_nvml_scene.hpp"
#include "matrix/exec/subprocess.hpp"
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

// A host with this GPU, and a store.
struct GpuHost {
  explicit GpuHost(const json& gpu) : machine(json{{"gpus", json::array({gpu})}}) {
    setenv("REPROBENCH_NVML_LIBRARY", FakeNvmlScene::library().c_str(), 1);
    setenv("REPROBENCH_LOCK_DIR", machine.folder.c_str(), 1);
    std::ofstream(machine.folder / "matrix.yaml") << kGpuMatrix;
  }
  ~GpuHost() {
    unsetenv("REPROBENCH_NVML_LIBRARY");
    unsetenv("REPROBENCH_LOCK_DIR");
  }

  SubprocessResult call(std::vector<std::string> arguments) const {
    SubprocessOptions options;
    options.command = {REPROBENCH_BINARY_DIR "/reprobench", "--store", machine.folder / "store"};
    options.command.insert(options.command.end(), arguments.begin(), arguments.end());
    options.timeout = std::chrono::minutes(5);
    return run_subprocess(options);
  }

  // The only cell's verdict after a run with the fake worker.
  json cell() const {
    const auto result = call({"run", "--no-report", "--json", "--matrix", machine.folder / "matrix.yaml", "--out",
                              machine.folder / "run", "--worker",
                              "torch-2.9.0-cu128=" REPROBENCH_BINARY_DIR "/reprobench-fake-worker --do paced=20"});
    INFO(result.err);
    return json::parse(result.out).at("cells").at(0);
  }

  FakeNvmlScene machine;
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
