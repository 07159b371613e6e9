#include "matrix/cli/doctor/gpu_preflight.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/cli/doctor/gpu_situation_probe.hpp"
#include "matrix/record/run_directory.hpp"

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

TEST_CASE("doctor: a libcuda that is there and that the loader refuses fails with the loader's words",
          "[cli][doctor]") {
  GpuSituation s = healthy();
  s.driver_load_problem = "libcuda.so.1: file too short";
  CHECK(finding_of(&check_driver_library, s) == Finding::fail);
  CHECK(says(line_of(&check_driver_library, s), "libcuda.so.1: cannot be loaded: libcuda.so.1: file too short"));
  s.libraries.clear();
  CHECK(says(line_of(&check_driver_library, s), "no libcuda.so.1 on the loader's path"));
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

struct SaidOf {
  const char* situation;
  std::function<void(GpuSituation&)> change;
};

void name_gpu(GpuSituation& s, const char* name) { gpu_of(s).name = name; }
void add_library(GpuSituation& s, const char* name, const char* path) { s.libraries.push_back({name, path}); }

const SaidOf kSituations[] = {
    {"everything is in order", [](GpuSituation&) {}},
    {"no driver", [](GpuSituation& s) { s = GpuSituation{}; }},
    {"no GPU answers", [](GpuSituation& s) { s.inventory = {"580.95.05", "13.0", {}, {}, {}, {}}; }},
    {"two functions are absent",
     [](GpuSituation& s) {
       s.inventory.absent = {"nvmlA", "nvmlB"};
     }},
    {"no UUID", [](GpuSituation& s) { gpu_of(s).uuid.clear(); }},
    {"a driver under the toolkit's", [](GpuSituation& s) { s.inventory.driver = "535.104.05"; }},
    {"the toolkit's own driver", [](GpuSituation& s) { s.inventory.driver = s.facts.driver_of_toolkit("12.8.1"); }},
    {"the floor's own driver", [](GpuSituation& s) { s.inventory.driver = "525.60.13"; }},
    {"a driver under the floor, of no branch", [](GpuSituation& s) { s.inventory.driver = "515.65.01"; }},
    {"a driver under the floor, of a branch", [](GpuSituation& s) { s.inventory.driver = "470.57.02"; }},
    {"the same on a consumer's GPU",
     [](GpuSituation& s) {
       s.inventory.driver = "470.57.02";
       name_gpu(s, "NVIDIA GeForce RTX 4090");
     }},
    {"a toolkit that the facts do not know",
     [](GpuSituation& s) {
       s.stacks = {{"a", "12.9", "12.9.9"}, {"b", "99.1", "99.1"}};
     }},
    {"an old driver for a CUDA without known branches",
     [](GpuSituation& s) {
       s.inventory.driver = "470.57.02";
       s.stacks = {{"torch-2.15.0-cu132", "13.2", "13.2"}};
     }},
    {"Volta on its last branch", [](GpuSituation& s) { gpu_of(s).compute_capability = "7.0"; }},
    {"Volta beyond it",
     [](GpuSituation& s) {
       gpu_of(s).compute_capability = "7.0";
       s.inventory.driver = "595.45.04";
     }},
    {"no container toolkit", [](GpuSituation& s) { s.toolkit.reset(); }},
    {"a container toolkit without a version", [](GpuSituation& s) { s.toolkit->version.clear(); }},
    {"an unsafe container toolkit",
     [](GpuSituation& s) {
       s.toolkit = ContainerToolkit{"1.17.7", ""};
     }},
    {"the first safe one",
     [](GpuSituation& s) {
       s.toolkit = ContainerToolkit{"1.17.8", "cdi"};
     }},
    {"one that is not configured", [](GpuSituation& s) { s.toolkit->mode.clear(); }},
    {"one in another mode", [](GpuSituation& s) { s.toolkit->mode = "legacy"; }},
    {"no persistence", [](GpuSituation& s) { gpu_of(s).persistence = "off"; }},
    {"unknown persistence, ECC and MIG",
     [](GpuSituation& s) {
       gpu_of(s).persistence.clear();
       gpu_of(s).ecc.clear();
       gpu_of(s).mig.clear();
     }},
    {"no ECC", [](GpuSituation& s) { gpu_of(s).ecc = "off"; }},
    {"one uncorrected error", [](GpuSituation& s) { set(s, Quantity::ecc_uncorrected, 1); }},
    {"no uncorrected error", [](GpuSituation& s) { set(s, Quantity::ecc_uncorrected, 0); }},
    {"MIG on the only GPU", [](GpuSituation& s) { gpu_of(s).mig = "on"; }},
    {"throttled", [](GpuSituation& s) { set(s, Quantity::clock_events, 0x88); }},
    {"a lower applications clock", [](GpuSituation& s) { gpu_of(s).application_sm_clock_mhz = 1'979; }},
    {"no applications clock",
     [](GpuSituation& s) {
       gpu_of(s).application_sm_clock_mhz = 0;
       s.inventory.now.at(0)[static_cast<std::size_t>(Quantity::sm_clock_mhz)].reset();
     }},
    {"no maximum clock", [](GpuSituation& s) { gpu_of(s).max_sm_clock_mhz = 0; }},
    {"15 lanes of 16", [](GpuSituation& s) { set(s, Quantity::pcie_lanes, 15); }},
    {"5 lanes of 16", [](GpuSituation& s) { set(s, Quantity::pcie_lanes, 5); }},
    {"4 lanes of 16", [](GpuSituation& s) { set(s, Quantity::pcie_lanes, 4); }},
    {"no lanes known", [](GpuSituation& s) { gpu_of(s).max_pcie_lanes = 0; }},
    {"two other processes",
     [](GpuSituation& s) {
       s.inventory.pids[0] = {41, 42};
     }},
    {"another process where one is admitted",
     [](GpuSituation& s) {
       s.inventory.pids[0] = {41};
       gpu_of(s).compute_mode = "exclusive_process";
     }},
    {"no process is admitted", [](GpuSituation& s) { gpu_of(s).compute_mode = "prohibited"; }},
    {"no /dev/shm", [](GpuSituation& s) { s.shm_bytes = -1; }},
    {"an empty /dev/shm", [](GpuSituation& s) { s.shm_bytes = 0; }},
    {"a container's /dev/shm", [](GpuSituation& s) { s.shm_bytes = 64 << 20; }},
    {"a little more of it", [](GpuSituation& s) { s.shm_bytes = (64 << 20) + 1; }},
    {"nearly enough of it", [](GpuSituation& s) { s.shm_bytes = (1024 << 20) - 1; }},
    {"enough of it", [](GpuSituation& s) { s.shm_bytes = 1024 << 20; }},
    {"no libcuda", [](GpuSituation& s) { s.libraries.clear(); }},
    {"a libcuda that cannot be loaded", [](GpuSituation& s) { s.driver_load_problem = "file too short"; }},
    {"two libcudas", [](GpuSituation& s) { add_library(s, "libcuda.so.1", "/opt/libcuda.so.1"); }},
    {"cuda-compat alone",
     [](GpuSituation& s) {
       s.libraries = {{"libcuda.so.1", "/cuda/compat/libcuda.so.1"}};
     }},
    {"cuda-compat on a consumer's GPU",
     [](GpuSituation& s) {
       s.libraries = {{"libcuda.so.1", "/cuda/compat/libcuda.so.1"}};
       name_gpu(s, "NVIDIA GeForce RTX 4090");
     }},
    {"cuda-compat second on a consumer's GPU",
     [](GpuSituation& s) {
       add_library(s, "libcuda.so.1", "/cuda/compat/libcuda.so.1");
       name_gpu(s, "NVIDIA GeForce RTX 4090");
     }},
    {"two CUDA runtimes",
     [](GpuSituation& s) {
       add_library(s, "libcudart.so.12", "/a/libcudart.so.12");
       add_library(s, "libcudart.so.13", "/a/libcudart.so.13");
     }},
    {"two of one name",
     [](GpuSituation& s) {
       add_library(s, "libcudart.so.12", "/a/libcudart.so.12");
       add_library(s, "libcudart.so.12", "/b/libcudart.so.12");
     }},
    {"visible devices", [](GpuSituation& s) { s.visible_devices = "0,GPU-5c3f"; }},
    {"visible devices that are not there", [](GpuSituation& s) { s.visible_devices = "1,0,GPU-f,GPU-,MIG-0"; }},
    {"an index of four digits", [](GpuSituation& s) { s.visible_devices = "0000"; }},
};

std::set<std::string> lines_in(const GpuSituation& situation, std::vector<std::string>* in_order = nullptr) {
  std::set<std::string> lines;
  for (const PreflightLine& line : check_gpus(situation)) {
    const std::string text = fmt::format("  {:<4} {}: {}{}\n", to_string(line.finding), line.check, line.detail,
                                         line.remedy.empty() ? "" : "\n         do: " + line.remedy);
    lines.insert(text);
    if (in_order != nullptr) in_order->push_back(text);
  }
  return lines;
}

TEST_CASE("what doctor says of GPUs is the page, situation by situation, less what it says where all is in order",
          "[cli][doctor]") {
  const std::set<std::string> usual = lines_in(healthy());
  std::string page;
  for (const SaidOf& said : kSituations) {
    GpuSituation situation = healthy();
    said.change(situation);
    page += std::string(said.situation) + "\n";
    std::vector<std::string> lines;
    lines_in(situation, &lines);
    for (const std::string& line : lines) {
      if (&said == &kSituations[0] || usual.count(line) == 0) page += line;
    }
  }
  const auto shipped = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "matrix/cli/doctor/testdata/gpu_preflight.txt";
  const auto found = std::filesystem::temp_directory_path() / "reprobench-gpu_preflight.txt";
  if (page != read_file(shipped)) std::ofstream(found) << page;
  INFO("if this is meant: cp " << found << " " << shipped);
  CHECK(page == read_file(shipped));
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
