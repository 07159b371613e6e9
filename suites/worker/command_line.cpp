#include "suites/worker/command_line.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include <unistd.h>

#include "matrix/contract/knob.hpp"
#include "suites/worker/attempt.hpp"
#include "suites/worker/describe.hpp"
#include "suites/worker/last_words.hpp"
#include "suites/worker/memory_need.hpp"
#include "suites/worker/telemetry_cost.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

constexpr int kUsage = 2;
constexpr int kNoResult = 3;

int print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? 0 : kNoResult;
}

int describe() { return print(to_json(describe_worker()).dump(2) + "\n"); }

int predict(const char* path) { return print(to_json(predict_memory(path)).dump(2) + "\n"); }

// An allocator and a thread pool read their variables when the process starts, so it starts again with those of a cell.
void take_environment(char** argv) {
  bool is_complete = true;
  for (const auto& [name, value] : knob_environment(with_defaults({}))) {
    const char* set = std::getenv(name.c_str());
    is_complete = is_complete && set != nullptr && value == set;
    setenv(name.c_str(), value.c_str(), 1);
  }
  if (is_complete) return;
  execv("/proc/self/exe", argv);
  std::perror("reprobench-worker: cannot start again with the environment of a cell");
  std::exit(kNoResult);
}

int telemetry_cost(const char* device, const char* data) {
  return print(measure_recording_costs(device, data).dump() + "\n");
}

int usage() {
  std::fputs(
      "usage: reprobench-worker describe | predict REQUESTS.json | run REQUEST.json --data DIR | telemetry-cost DEVICE "
      "--data DIR\n",
      stderr);
  return kUsage;
}

}  // namespace

int run_command(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  try {
    if (verb == "describe" && argc == 2) return describe();
    if (verb == "predict" && argc == 3) return predict(argv[2]);
    if (verb == "telemetry-cost" && argc == 5 && std::string_view(argv[3]) == "--data") {
      take_environment(argv);
      return telemetry_cost(argv[2], argv[4]);
    }
    std::signal(SIGTERM, [](int) { request_stop(); });
    // Gloo writes to a rank that is gone as to any other: that is an error of one write, which names the rank, not the
    // end of this process. Seen in 2 of 100 trials of ci/rank_faults.sh.
    std::signal(SIGPIPE, SIG_IGN);
    if (verb == "run" && argc == 5 && std::string_view(argv[3]) == "--data") {
      return run_attempt(argv[2], argv[4]) ? 0 : kFailedExit;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reprobench-worker: %s\n", error.what());
    return kNoResult;
  }
  return usage();
}

}  // namespace reprobench
