#include "suites/fake_nvml/fake_machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace reprobench::fake_nvml {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr int kTimeout = 10;
constexpr milliseconds kPollInterval{5};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Its only pointer goes when the library is unloaded, which looks like a leak.
Machine* kept_for_ever(Machine* machine) {
#ifdef __SANITIZE_ADDRESS__
  __lsan_ignore_object(machine);
#endif
  return machine;
}

}  // namespace

Machine& Machine::instance() {
  // Never destroyed: a detached thread may still read it while the process ends.
  static Machine& machine = *kept_for_ever(new Machine);
  return machine;
}

void Machine::load_script() {
  const std::lock_guard lock(mutex_);
  const std::string path = variable("REPROBENCH_FAKE_NVML");
  if (path == script_path_) return;
  script_path_ = path;
  started_ = hangs_until_ = Steady::now();
  gpus_.clear();
  xids_.clear();
  wait_error_ = 0;
  command_bytes_read_ = 0;
  const json script = json::parse(content_of(path), nullptr, /*allow_exceptions=*/false);
  if (!script.is_object()) return driver_.clear();
  driver_ = script.value("driver", "570.124.06");
  cuda_ = script.value("cuda", 12080);
  for (const json& keys : script.value("gpus", json::array())) gpus_.push_back({keys, false});
  failing_ = script.value("failing", std::map<std::string, int>());
  garbage_ = script.value("garbage", std::set<std::string>());
  timed_ = script.value("commands", std::vector<json>());
  command_path_ = variable("REPROBENCH_FAKE_NVML_COMMANDS");
}

int Machine::enter(const char* function) {
  Steady::time_point hangs_until;
  int planted = 0;
  {
    const std::lock_guard lock(mutex_);
    apply_due();
    hangs_until = hangs_until_;
    const auto found = failing_.find(function);
    if (found != failing_.end()) planted = found->second;
  }
  std::this_thread::sleep_until(hangs_until);
  return planted;
}

int Machine::wait_for_xid(PendingXid& xid, milliseconds timeout) {
  const auto deadline = Steady::now() + timeout;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      apply_due();
      if (wait_error_ != 0) return wait_error_;
      if (!xids_.empty()) {
        xid = xids_.front();
        xids_.pop_front();
        return 0;
      }
    }
    if (Steady::now() >= deadline) return kTimeout;
    std::this_thread::sleep_for(std::min<Steady::duration>(kPollInterval, deadline - Steady::now()));
  }
}

void Machine::apply_due() {
  const auto age = Steady::now() - started_;
  std::erase_if(timed_, [&](const json& command) {
    if (age < milliseconds(command.value("at_ms", 0))) return false;
    apply(command);
    return true;
  });
  read_command_file();
}

void Machine::read_command_file() {
  if (command_path_.empty()) return;
  std::ifstream file(command_path_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(command_bytes_read_));
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) return;  // still being written
    command_bytes_read_ += line.size() + 1;
    const json command = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (command.is_object()) apply(command);
  }
}

void Machine::apply(const json& command) {
  if (command.contains("hang_ms")) hangs_until_ = Steady::now() + milliseconds(command["hang_ms"].get<int>());
  if (command.contains("wait_error")) wait_error_ = command["wait_error"].get<int>();
  const std::string uuid = command.value("gpu", "");
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].keys.value("uuid", "") != uuid) continue;
    if (command.contains("set")) gpus_[i].keys.update(command["set"]);
    if (command.value("lost", false)) gpus_[i].is_lost = true;
    if (command.contains("xid")) xids_.push_back({static_cast<unsigned>(i), command["xid"].get<unsigned>()});
  }
}

}  // namespace reprobench::fake_nvml
