// Runs a helper program to its end: pip, cmake, the worker's `describe`, the report generator. No shell is involved.
// Neither the current folder nor the environment decides which program runs.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

struct SubprocessOptions {
  std::vector<std::string> command;                                 // its first word is a path
  std::optional<std::map<std::string, std::string>> environment{};  // nothing: that of helper_environment()
  std::string working_directory = "/";
  std::chrono::milliseconds timeout{0};  // 0: none
  // Path of reprobench-shepherd: the command and all processes that it started end when this process ends, even by
  // SIGKILL. Empty: they may outlive it.
  std::string shepherd{};
  // The command before the shepherd: reprobench-enclosure with its options, up to `--` (exec/enclosed_command.hpp).
  std::vector<std::string> enclosure{};
  std::function<void(std::string_view)> on_output{};  // each chunk of stdout or stderr as it comes; may be empty
  std::size_t capture_bytes = 1 << 20;                // how much of each stream is kept
};

struct SubprocessResult {
  int exit_code = -1;  // 128 + signal if it was killed; 127 if it could not be started
  bool timed_out = false;
  std::string out;
  std::string err;
  std::string launch_error;  // empty unless it could not be started
};

SubprocessResult run_subprocess(const SubprocessOptions& options);

// The variables of this process, to start another one with them and a few changes.
std::map<std::string, std::string> inherited_environment();

// The executable `name` in the first of PATH's folders that has it; empty if none has. A folder that depends on the
// current one (`.`, an empty one) is ignored.
std::string find_in_path(const std::string& name);

}  // namespace reprobench
