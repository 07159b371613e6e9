#include "matrix/host/gpu_reading.hpp"

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/contract/device/device_facts.hpp"
#include "matrix/host/fake_nvml_scene.hpp"
#include "matrix/host/nvml_library.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

json two_gpus() { return {{"gpus", json::array({fake_gpu("GPU-a"), fake_gpu("GPU-b")})}}; }

std::optional<std::int64_t> now(const GpuInventory& inventory, Quantity quantity) {
  return inventory.now.at(0)[static_cast<std::size_t>(quantity)];
}

TEST_CASE("a GPU is described by everything NVML says of it", "[host]") {
  json script = two_gpus();
  script["gpus"][1]["application_sm_clock_mhz"] = 1'410;
  script["gpus"][1]["nvlinks_active"] = 7;
  const FakeNvmlScene scene(script);
  const GpuInventory inventory = detect_gpus(FakeNvmlScene::library());
  CHECK(inventory.driver == "570.124.06");
  CHECK(inventory.driver_cuda == "12.8");
  CHECK(inventory.absent.empty());
  REQUIRE(inventory.gpus.size() == 2);
  const GpuFacts& gpu = inventory.gpus[1];
  CHECK(gpu.uuid == "GPU-b");
  CHECK(gpu.name == "NVIDIA H100 80GB HBM3");
  CHECK(gpu.compute_capability == "9.0");
  CHECK(gpu.memory_bytes == 85'520'809'984);
  CHECK(gpu.pci_bus_id == "00000000:3B:00.0");
  CHECK(gpu.cuda_cores == 16'896);
  CHECK(gpu.max_sm_clock_mhz == 1'980);
  CHECK(gpu.max_memory_clock_mhz == 2'619);
  CHECK(gpu.application_sm_clock_mhz == 1'410);
  CHECK(gpu.power_limit_mw == 700'000);
  CHECK(gpu.ecc == "on");
  CHECK(gpu.mig == "off");
  CHECK(gpu.persistence == "on");
  CHECK(gpu.compute_mode == "default");
  CHECK(gpu.max_pcie_generation == 5);
  CHECK(gpu.max_pcie_lanes == 16);
  CHECK(gpu.nvlinks_active == 7);
  CHECK(device_class(gpu.compute_capability) == "sm_90");
  CHECK(unusable_because(gpu).empty());
}

TEST_CASE("every quantity is read", "[host]") {
  const FakeNvmlScene scene(two_gpus());
  const GpuInventory inventory = detect_gpus(FakeNvmlScene::library());
  for (std::size_t i = 0; i < kQuantities; ++i) {
    if (static_cast<Quantity>(i) == Quantity::process_memory_bytes)
      continue;  // of a run's processes, and there is none
    INFO(info_of(static_cast<Quantity>(i)).word);
    CHECK(inventory.now.at(0)[i].has_value());
  }
  CHECK(now(inventory, Quantity::sm_clock_mhz) == 1'980);
  CHECK(now(inventory, Quantity::memory_clock_mhz) == 2'619);
  CHECK(now(inventory, Quantity::memory_used_bytes) == 1'000'000'000);
  CHECK(now(inventory, Quantity::ecc_uncorrected_ever) == 2);
  CHECK(now(inventory, Quantity::power_violation_ns) == 5);
  CHECK(now(inventory, Quantity::thermal_violation_ns) == 7);
}

TEST_CASE("compute processes are listed, however many there are", "[host]") {
  json script = two_gpus();
  std::vector<int> pids;
  for (int i = 0; i < 300; ++i) pids.push_back(1'000 + i);
  script["gpus"][0]["pids"] = pids;
  const FakeNvmlScene scene(script);
  const GpuInventory inventory = detect_gpus(FakeNvmlScene::library());
  CHECK(inventory.pids.at(0).size() == 300);
  CHECK(inventory.pids.at(0).back() == 1'299);
  CHECK(inventory.pids.at(1).empty());
}

TEST_CASE("an old driver's library is asked by its older names, and what it lacks is on record", "[host]") {
  json script = two_gpus();
  script["gpus"][0]["pids"] = {4'242};
  script["gpus"][0]["clock_events"] = 8;
  const FakeNvmlScene scene(script);
  const GpuInventory inventory = detect_gpus(FakeNvmlScene::old_library());
  REQUIRE(inventory.gpus.size() == 2);
  CHECK(now(inventory, Quantity::clock_events) == 8);
  CHECK(now(inventory, Quantity::power_limit_mw) == 700'000);
  CHECK(inventory.pids.at(0) == std::vector<std::int64_t>{4'242});
  CHECK(inventory.gpus[0].mig.empty());
  CHECK(inventory.absent ==
        std::vector<std::string>{"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMigMode"});
}

TEST_CASE("a mode is on, off or not told, and a compute mode has four words", "[host]") {
  for (const auto& [number, word, compute] :
       std::vector<std::tuple<int, std::string, std::string>>{{0, "off", "default"},
                                                              {1, "on", "exclusive_thread"},
                                                              {2, "", "prohibited"},
                                                              {3, "", "exclusive_process"},
                                                              {4, "", ""}}) {
    INFO(number);
    json script = two_gpus();
    for (const char* key : {"ecc", "mig", "persistence", "compute_mode"}) script["gpus"][0][key] = number;
    const FakeNvmlScene scene(script);
    const GpuFacts gpu = detect_gpus(FakeNvmlScene::library()).gpus.at(0);
    CHECK(gpu.ecc == word);
    CHECK(gpu.mig == word);
    CHECK(gpu.persistence == word);
    CHECK(gpu.compute_mode == compute);
  }
}

TEST_CASE("the library is the one that the environment names, else the driver's", "[host]") {
  const TemporaryVariable none("REPROBENCH_NVML_LIBRARY", std::nullopt);
  CHECK(nvml_library_path() == "libnvidia-ml.so.1");
  const TemporaryVariable empty("REPROBENCH_NVML_LIBRARY", "");
  CHECK(nvml_library_path() == "libnvidia-ml.so.1");
  const TemporaryVariable other("REPROBENCH_NVML_LIBRARY", "/opt/libother.so");
  CHECK(nvml_library_path() == "/opt/libother.so");
}

TEST_CASE("a query that fails is absent, the rest is there", "[host]") {
  json script = two_gpus();
  script["failing"] = {{"nvmlDeviceGetPowerUsage", 3}, {"nvmlDeviceGetUUID", 999}};
  const FakeNvmlScene scene(script);
  const GpuInventory inventory = detect_gpus(FakeNvmlScene::library());
  REQUIRE(inventory.gpus.size() == 2);
  CHECK_FALSE(now(inventory, Quantity::power_mw));
  CHECK(now(inventory, Quantity::temperature_c) == 45);
  CHECK(inventory.gpus[0].uuid.empty());
  CHECK_FALSE(unusable_because(inventory.gpus[0]).empty());
}

TEST_CASE("garbage counts as no answer", "[host]") {
  json script = two_gpus();
  script["garbage"] = {"nvmlDeviceGetTemperature", "nvmlDeviceGetClockInfo", "nvmlDeviceGetUtilizationRates",
                       "nvmlDeviceGetViolationStatus"};
  const FakeNvmlScene scene(script);
  const GpuInventory inventory = detect_gpus(FakeNvmlScene::library());
  CHECK_FALSE(now(inventory, Quantity::temperature_c));
  CHECK_FALSE(now(inventory, Quantity::sm_clock_mhz));
  CHECK_FALSE(now(inventory, Quantity::utilisation_percent));
  CHECK_FALSE(now(inventory, Quantity::thermal_violation_ns));
  CHECK(now(inventory, Quantity::power_mw) == 350'000);
}

TEST_CASE("a GPU that is lost is left out, its neighbour is not", "[host]") {
  json script = two_gpus();
  script["commands"] = json::array({{{"gpu", "GPU-a"}, {"lost", true}}});
  const FakeNvmlScene scene(script);
  const GpuInventory inventory = detect_gpus(FakeNvmlScene::library());
  REQUIRE(inventory.gpus.size() == 1);
  CHECK(inventory.gpus[0].uuid == "GPU-b");
}

TEST_CASE("no library, no driver and a driver that does not start are all no GPUs", "[host]") {
  CHECK(detect_gpus("libreprobench-no-such-library.so").driver.empty());
  const FakeNvmlScene scene(json{{"driver", ""}});
  CHECK(detect_gpus(FakeNvmlScene::library()).driver.empty());
  json script = two_gpus();
  script["failing"] = {{"nvmlInit_v2", 9}};
  const FakeNvmlScene failing(script);
  CHECK(detect_gpus(FakeNvmlScene::library()).gpus.empty());
}

TEST_CASE("F45: a library that hangs is given up in time", "[host]") {
  json script = two_gpus();
  script["commands"] = json::array({{{"hang_ms", 1'000}}});
  const FakeNvmlScene scene(script);
  const auto started = std::chrono::steady_clock::now();
  CHECK(detect_gpus(FakeNvmlScene::library(), std::chrono::milliseconds(100)).driver.empty());
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::milliseconds(600));
}

TEST_CASE("a GPU in MIG mode or with a prohibited compute mode is given to nobody, and says why", "[host]") {
  json script = two_gpus();
  script["gpus"][0]["mig"] = 1;
  script["gpus"][1]["compute_mode"] = 2;
  const FakeNvmlScene scene(script);
  const GpuInventory inventory = detect_gpus(FakeNvmlScene::library());
  CHECK(unusable_because(inventory.gpus.at(0)) == "MIG mode is on");
  CHECK(unusable_because(inventory.gpus.at(1)) == "its compute mode is prohibited");
}

}  // namespace
}  // namespace reprobench
