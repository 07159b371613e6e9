// The machine behind the fake libnvidia-ml: GPUs whose readings a script sets, and changes while the library is in use.
//
// $REPROBENCH_FAKE_NVML names the script, a JSON document:
//   {"driver": "570.124.06", "cuda": 12080,
//    "gpus": [{"uuid": "GPU-a", "name": "NVIDIA H100", "sm_clock_mhz": 1980, "pids": [4242], ...}],
//    "failing": {"nvmlDeviceGetPowerUsage": 3},     these calls return that code
//    "garbage": ["nvmlDeviceGetTemperature"],       these answer with all bits set
//    "commands": [{"at_ms": 300, "gpu": "GPU-a", "xid": 79}]}
// $REPROBENCH_FAKE_NVML_COMMANDS may name a file to which further commands are appended, one a line; they take effect
// when they are seen, so that a test or a fake worker decides the moment. A command is any of
//   {"gpu": UUID, "set": {KEY: VALUE}}   {"gpu": UUID, "xid": NUMBER}   {"gpu": UUID, "lost": true}
//   {"hang_ms": 30000}                   {"wait_error": 999}
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace reprobench::fake_nvml {

struct Gpu {
  nlohmann::json keys;  // as in the script
  bool is_lost = false;
};

struct PendingXid {
  unsigned gpu = 0;
  unsigned number = 0;
};

class Machine {
 public:
  static Machine& instance();

  // Reads the script, if another one is named than before: tests of one process each bring their own.
  void load_script();

  // Waits out a hang, applies what is due, and answers with the code the script plants for `function` (0: none).
  int enter(const char* function);

  bool is_garbage(const char* function) const { return garbage_.count(function) > 0; }
  const std::string& driver() const { return driver_; }
  int cuda() const { return cuda_; }
  std::vector<Gpu>& gpus() { return gpus_; }
  double age_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count(); }
  std::mutex& mutex() { return mutex_; }

  // The next Xid nobody has taken yet, or an error of the event channel; neither within the time: 10 (timeout).
  int wait_for_xid(PendingXid& xid, std::chrono::milliseconds timeout);

 private:
  Machine() = default;
  void apply_due();
  void apply(const nlohmann::json& command);
  void read_command_file();

  std::mutex mutex_;
  std::string script_path_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point hangs_until_;
  std::string driver_;
  int cuda_ = 0;
  std::vector<Gpu> gpus_;
  std::map<std::string, int> failing_;
  std::set<std::string> garbage_;
  std::vector<nlohmann::json> timed_;
  std::deque<PendingXid> xids_;
  int wait_error_ = 0;
  std::string command_path_;
  std::size_t command_bytes_read_ = 0;
};

}  // namespace reprobench::fake_nvml
