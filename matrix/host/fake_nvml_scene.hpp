// For tests: a machine with GPUs, played by the fake libnvidia-ml (suites/fake_nvml).
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "ci/temporary.hpp"

namespace reprobench {

// A healthy H100 at work.
inline nlohmann::json fake_gpu(const std::string& uuid) {
  return {{"uuid", uuid},
          {"name", "NVIDIA H100 80GB HBM3"},
          {"pci_bus_id", "00000000:3B:00.0"},
          {"major", 9},
          {"minor", 0},
          {"memory_bytes", 85'520'809'984},
          {"memory_used_bytes", 1'000'000'000},
          {"cuda_cores", 16'896},
          {"sm_clock_mhz", 1'980},
          {"max_sm_clock_mhz", 1'980},
          {"memory_clock_mhz", 2'619},
          {"max_memory_clock_mhz", 2'619},
          {"application_sm_clock_mhz", 1'980},
          {"temperature_c", 45},
          {"power_mw", 350'000},
          {"power_limit_mw", 700'000},
          {"energy_mj", 5'000'000},
          {"energy_mw", 350'000},
          {"utilisation_percent", 97},
          {"clock_events", 0},
          {"power_violation_ns", 5},
          {"thermal_violation_ns", 7},
          {"ecc", 1},
          {"ecc_uncorrected", 0},
          {"ecc_uncorrected_ever", 2},
          {"mig", 0},
          {"persistence", 1},
          {"compute_mode", 0},
          {"pcie_generation", 5},
          {"pcie_lanes", 16},
          {"max_pcie_generation", 5},
          {"max_pcie_lanes", 16},
          {"nvlinks_active", 18}};
}

class FakeNvmlScene {
 public:
  // `script` is {"gpus": [...], ...}, as suites/fake_nvml/fake_machine.hpp describes it.
  explicit FakeNvmlScene(const nlohmann::json& script) {
    std::ofstream(folder / "script.json") << script.dump();
    std::ofstream(this->commands(), std::ios::app).flush();
  }

  std::filesystem::path commands() const { return folder / "commands.jsonl"; }
  void command(const nlohmann::json& command) const {
    std::ofstream(this->commands(), std::ios::app) << command.dump() + "\n";
  }

  static std::string library() { return std::string(REPROBENCH_BINARY_DIR) + "/libreprobench-fake-nvml.so"; }
  static std::string old_library() { return std::string(REPROBENCH_BINARY_DIR) + "/libreprobench-fake-nvml-r450.so"; }

  TemporaryFolder place;
  std::filesystem::path folder = place.path;
  TemporaryVariable script_variable{"REPROBENCH_FAKE_NVML", folder / "script.json"};
  TemporaryVariable commands_variable{"REPROBENCH_FAKE_NVML_COMMANDS", folder / "commands.jsonl"};
};

}  // namespace reprobench
