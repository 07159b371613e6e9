#include "suites/fake_worker/fake_gpu.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace reprobench {
namespace {

constexpr std::chrono::milliseconds kAFewReadings{350};

void tell(nlohmann::json command) {
  const char* path = std::getenv("REPROBENCH_FAKE_NVML_COMMANDS");
  const char* gpu = std::getenv("CUDA_VISIBLE_DEVICES");
  if (path == nullptr || gpu == nullptr) return;
  command["gpu"] = gpu;
  std::ofstream(path, std::ios::app) << command.dump() + "\n";
}

}  // namespace

void upset_gpu(const Behaviour& behaviour, const CellRequest& request) {
  if (behaviour.does("once") && request.attempt > 0) return;
  bool upset = true;
  if (behaviour.does("xid")) {
    tell({{"xid", static_cast<int>(behaviour.value("xid", 31))}});
  } else if (behaviour.does("clock_events")) {
    tell({{"set", {{"clock_events", static_cast<int>(behaviour.value("clock_events", 8))}}}});
  } else if (behaviour.does("foreign_pid")) {
    tell({{"set", {{"pids", {static_cast<int>(behaviour.value("foreign_pid", 1))}}}}});
  } else if (behaviour.does("gpu_lost")) {
    tell({{"lost", true}});
  } else if (behaviour.does("nvml_hang")) {
    tell({{"hang_ms", static_cast<int>(behaviour.value("nvml_hang", 30'000))}});
  } else {
    upset = false;
  }
  if (upset) std::this_thread::sleep_for(kAFewReadings);
  if (behaviour.does("brief")) calm_gpu(behaviour);
}

void calm_gpu(const Behaviour& behaviour) {
  if (behaviour.does("clock_events")) tell({{"set", {{"clock_events", 0}}}});
  if (behaviour.does("foreign_pid")) tell({{"set", {{"pids", nlohmann::json::array()}}}});
}

}  // namespace reprobench
