#include "matrix/cli/gpu_preflight.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/gpu_situation_probe.hpp"

namespace reprobench {
namespace {

void set(GpuSituation& situation, Quantity quantity, std::int64_t value) {
  situation.inventory.now.at(0)[static_cast<std::size_t>(quantity)] = value;
}

// One healthy H100 with a present driver, on which everything is in order.
GpuSituation healthy() {
  GpuSituation situation;
  situation.facts = load_compat_facts(std::string(REPROBENCH_SOURCE_ROOT) + "/matrix/facts/compat-facts.json");
  GpuFacts gpu;
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.compute_capability = "9.0";
  gpu.memory_bytes = 85'520'809'984;
  gpu.uuid = "GPU-5c3f0a9e";
  gpu.max_sm_clock_mhz = gpu.application_sm_clock_mhz = 1'980;
  gpu.ecc = gpu.persistence = "on";
  gpu.mig = "off";
  gpu.compute_mode = "default";
  gpu.max_pcie_lanes = 16;
  gpu.max_pcie_generation = 5;
  situation.inventory = {"580.95.05", "13.0", {gpu}, {Quantities{}}, {{}}, {}};
  set(situation, Quantity::sm_clock_mhz, 345);
  set(situation, Quantity::clock_events, 1);
  set(situation, Quantity::pcie_lanes, 16);
  situation.stacks = {{"torch-2.9.0-cu128", "12.8", "12.8.1"}};
  situation.toolkit = ContainerToolkit{"1.20.0", "cdi"};
  situation.libraries = {{"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}};
  situation.shm_bytes = std::int64_t{8} << 30;
  return situation;
}

GpuFacts& gpu_of(GpuSituation& situation) { return situation.inventory.gpus.at(0); }

using Check = PreflightLines (*)(const GpuSituation&);

// The one line a check has to say; a warning or a failure never comes without a remedy, nor an OK with one.
PreflightLine line_of(Check check, const GpuSituation& situation) {
  const PreflightLines lines = check(situation);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].remedy.empty() == (lines[0].finding == Finding::ok));
  return lines[0];
}

Finding finding_of(Check check, const GpuSituation& situation) { return line_of(check, situation).finding; }

bool says(const PreflightLine& line, const std::string& part) {
  return (line.detail + " " + line.remedy).find(part) != std::string::npos;
}

TEST_CASE("a healthy GPU host has nothing but OK, a line for every check", "[cli][doctor]") {
  const PreflightLines lines = check_gpus(healthy());
  CHECK(lines.size() == 13);  // the driver's branch is only spoken of where it ends
  for (const PreflightLine& line : lines) {
    INFO(line.check << ": " << line.detail);
    CHECK(line.finding == Finding::ok);
  }
}

TEST_CASE("without a driver there is one line", "[cli][doctor]") {
  const PreflightLines lines = check_gpus(GpuSituation{});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].finding == Finding::ok);
  CHECK(says(lines[0], "no NVIDIA driver"));
}

TEST_CASE("doctor: a driver whose GPUs do not answer fails, missing functions warn", "[cli][doctor]") {
  GpuSituation s = healthy();
  s.inventory.absent = {"nvmlDeviceGetMigMode"};
  CHECK(check_nvml(s).back().finding == Finding::warn);
  s.inventory = {"580.95.05", "13.0", {}, {}, {}, {}};
  CHECK(finding_of(&check_nvml, s) == Finding::fail);
}

TEST_CASE("doctor: the driver is held against every stack", "[cli][doctor]") {
  GpuSituation s = healthy();
  CHECK(finding_of(&check_driver_of_stacks, s) == Finding::ok);
  s.inventory.driver = "535.104.05";
  CHECK(finding_of(&check_driver_of_stacks, s) == Finding::warn);
  CHECK(says(line_of(&check_driver_of_stacks, s), "minor-version mode"));
  s.inventory.driver = "515.65.01";
  CHECK(finding_of(&check_driver_of_stacks, s) == Finding::fail);
  CHECK(says(line_of(&check_driver_of_stacks, s), "R515 is not among the branches"));
}

TEST_CASE("doctor: forward compatibility is for data-center GPUs, listed branches and known CUDAs", "[cli][doctor]") {
  GpuSituation s = healthy();
  s.inventory.driver = "470.57.02";
  CHECK(finding_of(&check_driver_of_stacks, s) == Finding::warn);
  CHECK(says(line_of(&check_driver_of_stacks, s), "cuda-compat-12-8"));
  gpu_of(s).name = "NVIDIA GeForce RTX 4090";
  CHECK(finding_of(&check_driver_of_stacks, s) == Finding::fail);
  CHECK(line_of(&check_driver_of_stacks, s)
            .detail.ends_with(", the floor of CUDA 12; forward compatibility is for data-center GPUs only"));
  CHECK(line_of(&check_driver_of_stacks, s).remedy == "install driver 525.60.13 or later");
  gpu_of(s).name = "NVIDIA A100-SXM4-80GB";
  CHECK(finding_of(&check_driver_of_stacks, s) == Finding::warn);
  s.stacks = {{"torch-2.15.0-cu132", "13.2", "13.2"}};
  CHECK(finding_of(&check_driver_of_stacks, s) == Finding::fail);
  CHECK(says(line_of(&check_driver_of_stacks, s), "no branches are known"));
}

TEST_CASE("doctor: a driver branch beyond an architecture's last fails, the last warns", "[cli][doctor]") {
  GpuSituation s = healthy();
  CHECK(check_driver_branch(s).empty());
  gpu_of(s).compute_capability = "7.0";
  CHECK(finding_of(&check_driver_branch, s) == Finding::warn);
  s.inventory.driver = "595.45.04";
  CHECK(finding_of(&check_driver_branch, s) == Finding::fail);
}

TEST_CASE("doctor: nvidia-container-toolkit by version and mode", "[cli][doctor]") {
  GpuSituation s = healthy();
  s.toolkit = ContainerToolkit{"1.17.7", "cdi"};
  CHECK(finding_of(&check_container_toolkit, s) == Finding::fail);
  s.toolkit = ContainerToolkit{"1.17.8", "cdi"};
  CHECK(finding_of(&check_container_toolkit, s) == Finding::warn);
  s.toolkit = ContainerToolkit{"1.20.0", "auto"};
  CHECK(says(line_of(&check_container_toolkit, s), "mode=cdi"));
  s.toolkit = ContainerToolkit{"", "cdi"};
  CHECK(finding_of(&check_container_toolkit, s) == Finding::warn);
  s.toolkit.reset();
  CHECK(finding_of(&check_container_toolkit, s) == Finding::ok);
}

TEST_CASE("doctor: persistence off warns, unknown says nothing", "[cli][doctor]") {
  GpuSituation s = healthy();
  gpu_of(s).persistence = "off";
  CHECK(finding_of(&check_persistence, s) == Finding::warn);
  gpu_of(s).persistence.clear();
  CHECK(check_persistence(s).empty());
}

TEST_CASE("doctor: ECC off warns, an uncorrected error fails", "[cli][doctor]") {
  GpuSituation s = healthy();
  gpu_of(s).ecc = "off";
  CHECK(finding_of(&check_ecc, s) == Finding::warn);
  gpu_of(s).ecc = "on";
  set(s, Quantity::ecc_uncorrected, 2);
  CHECK(finding_of(&check_ecc, s) == Finding::fail);
}

TEST_CASE("doctor: MIG on the only GPU fails, beside another it warns", "[cli][doctor]") {
  GpuSituation s = healthy();
  gpu_of(s).mig = "on";
  CHECK(finding_of(&check_mig, s) == Finding::fail);
  GpuFacts other = gpu_of(s);
  other.mig = "off";
  s.inventory.gpus.push_back(other);
  CHECK(check_mig(s).at(0).finding == Finding::warn);
  CHECK(check_mig(s).at(1).finding == Finding::ok);
}

TEST_CASE("doctor: an applications clock under the maximum warns, throttling right now fails", "[cli][doctor]") {
  GpuSituation s = healthy();
  gpu_of(s).application_sm_clock_mhz = 1'410;
  CHECK(finding_of(&check_clocks, s) == Finding::warn);
  set(s, Quantity::clock_events, 0x80);
  CHECK(finding_of(&check_clocks, s) == Finding::fail);
  CHECK(says(line_of(&check_clocks, s), "hw_power_brake"));
}

TEST_CASE("doctor: a narrow PCIe link warns, a quarter of one fails", "[cli][doctor]") {
  GpuSituation s = healthy();
  set(s, Quantity::pcie_lanes, 8);
  CHECK(finding_of(&check_pcie, s) == Finding::warn);
  set(s, Quantity::pcie_lanes, 4);
  CHECK(finding_of(&check_pcie, s) == Finding::fail);
}

TEST_CASE("doctor: another compute process warns, and fails where only one is admitted", "[cli][doctor]") {
  GpuSituation s = healthy();
  s.inventory.pids[0] = {4'242};
  CHECK(finding_of(&check_processes, s) == Finding::warn);
  gpu_of(s).compute_mode = "exclusive_process";
  CHECK(finding_of(&check_processes, s) == Finding::fail);
  s.inventory.pids[0].clear();
  CHECK(finding_of(&check_processes, s) == Finding::ok);
  gpu_of(s).compute_mode = "prohibited";
  CHECK(finding_of(&check_processes, s) == Finding::fail);
}

TEST_CASE("doctor: /dev/shm of a container's default fails, a small one warns", "[cli][doctor]") {
  GpuSituation s = healthy();
  s.shm_bytes = 512 << 20;
  CHECK(finding_of(&check_shared_memory, s) == Finding::warn);
  s.shm_bytes = 64 << 20;
  CHECK(finding_of(&check_shared_memory, s) == Finding::fail);
  s.shm_bytes = -1;
  CHECK(finding_of(&check_shared_memory, s) == Finding::fail);
}

TEST_CASE("doctor: a libcuda that shadows the driver's warns, and fails on a GPU it is not for", "[cli][doctor]") {
  GpuSituation s = healthy();
  s.libraries.insert(s.libraries.begin(), {"libcuda.so.1", "/usr/local/cuda-12.8/compat/libcuda.so.1"});
  CHECK(finding_of(&check_driver_library, s) == Finding::warn);
  gpu_of(s).name = "NVIDIA GeForce RTX 4090";
  CHECK(finding_of(&check_driver_library, s) == Finding::fail);
  s.libraries.clear();
  CHECK(finding_of(&check_driver_library, s) == Finding::fail);
}

TEST_CASE("doctor: a CUDA runtime on the loader's path warns, two of one name fail", "[cli][doctor]") {
  GpuSituation s = healthy();
  s.libraries.push_back({"libcudart.so.12", "/usr/local/cuda-12.8/lib64/libcudart.so.12"});
  CHECK(finding_of(&check_cuda_runtimes, s) == Finding::warn);
  s.libraries.push_back({"libcudart.so.13", "/usr/local/cuda-13.0/lib64/libcudart.so.13"});
  CHECK(finding_of(&check_cuda_runtimes, s) == Finding::warn);
  s.libraries.push_back({"libcudart.so.12", "/usr/local/cuda-12.4/lib64/libcudart.so.12"});
  CHECK(finding_of(&check_cuda_runtimes, s) == Finding::fail);
}

TEST_CASE("doctor: CUDA_VISIBLE_DEVICES that is set warns, one that names unknown GPUs fails", "[cli][doctor]") {
  GpuSituation s = healthy();
  for (const char* known : {"0", "GPU-5c3f0a9e", "GPU-5c3f", "0,GPU-5c3f", ""}) {
    s.visible_devices = known;
    INFO(known);
    CHECK(finding_of(&check_visible_devices, s) == Finding::warn);
  }
  for (const char* unknown : {"1", "GPU-ffff", "0,7", "GPU-", "MIG-1", "all", "99999999999999999999"}) {
    s.visible_devices = unknown;
    INFO(unknown);
    CHECK(finding_of(&check_visible_devices, s) == Finding::fail);
  }
}

TEST_CASE("what nvidia-ctk, its configuration and ldconfig print is understood", "[cli][doctor]") {
  CHECK(toolkit_version("NVIDIA Container Toolkit CLI version 1.17.8\ncommit: f202b80\n") == "1.17.8");
  CHECK(toolkit_version("NVIDIA Container Toolkit CLI version 1.18.0-rc.1\n") == "1.18.0");
  CHECK(toolkit_version("command not found").empty());
  CHECK(toolkit_mode("[nvidia-container-cli]\nmode = \"x\"\n[nvidia-container-runtime]\n#mode = \"legacy\"\n"
                     "mode = \"cdi\"\n[nvidia-container-runtime.modes.cdi]\nmode = \"y\"\n") == "cdi");
  CHECK(toolkit_mode("").empty());
  const auto libraries = cached_libraries(
      "3 libs found in cache\n"
      "\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.12\n"
      "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
      "\tlibcuda.so.1 (libc6) => /usr/lib/i386-linux-gnu/libcuda.so.1\n"
      "\tlibcudadebugger.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcudadebugger.so.1\n");
  REQUIRE(libraries.size() == 2);
  CHECK(libraries[0].name == "libcudart.so.12");
  CHECK(libraries[1].path == "/usr/lib/x86_64-linux-gnu/libcuda.so.1");
}

}  // namespace
}  // namespace reprobench
