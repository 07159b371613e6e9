// What recording costs: CPU time a step with and without it, interleaved in one process. CPU time, so that other work
// on a shared machine does not count; not Google Benchmark, because the two sides must alternate.
//
//   worker_bench DATA_DIR [PART]     workload, what is recorded, median CPU time of a step without and with it, median
//   ratio
//
// Run it with one thread and the environment of `allocator: retain`, as cells are run.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include <time.h>
#include <unistd.h>

#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

constexpr int kPairs = 11;

enum class Record { steps, tensors, operators };

struct Case {
  const char* model;
  const char* preset;
  std::int64_t batch_size;
  std::int64_t steps;
  Record record;
  const char* what;
};

constexpr Case kCases[] = {
    {"mlp", "small", 32, 2000, Record::steps, "root digests"},
    {"mlp", "base", 32, 1000, Record::steps, "root digests"},
    {"mlp", "base", 192, 400, Record::steps, "root digests"},
    {"gpt2", "tiny", 4, 40, Record::steps, "root digests"},
    {"mlp", "base", 32, 200, Record::tensors, "every tensor"},
    {"gpt2", "tiny", 4, 100, Record::tensors, "every tensor"},
    {"gpt2", "tiny", 4, 20, Record::operators, "every operator (replay)"},
};

CellRequest request_of(const Case& one, std::int64_t steps) {
  CellRequest request;
  request.workload = {one.model, one.preset, steps, one.batch_size};
  request.device = "cpu";
  request.knobs = with_defaults({});
  request.trace = one.record == Record::steps ? TraceLevel::step : TraceLevel::tensor;
  if (one.record == Record::operators) {
    Replay replay;
    replay.last_step = steps;
    replay.operators_from = 1;
    replay.operators_to = steps;
    request.replay = replay;
  }
  return request;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kPairs / 2, values.end());
  return values[kPairs / 2];
}

double process_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double cpu_ns(const CellRequest& request, const std::filesystem::path& folder, const char* data, Telemetry telemetry) {
  CellResult result;
  const double start = process_cpu_ns();
  run_training(request, folder, data, result, telemetry);
  return process_cpu_ns() - start;
}

// Time a step: a long run less a short one, which takes set-up, header and final line out.
double step_ns(const Case& one, const std::filesystem::path& folder, const char* data, Telemetry telemetry) {
  const auto request = [&](std::int64_t steps) {
    CellRequest request = request_of(one, steps);
    if (telemetry == Telemetry::off) request.replay.reset();
    return request;
  };
  const double whole = cpu_ns(request(one.steps), folder, data, telemetry);
  const double set_up = cpu_ns(request(1), folder, data, telemetry);
  return (whole - set_up) / static_cast<double>(one.steps - 1);
}

void compare(const Case& one, const std::filesystem::path& folder, const char* data) {
  std::vector<double> off;
  std::vector<double> on;
  std::vector<double> ratio;
  for (int pair = 0; pair < kPairs; ++pair) {
    const bool off_first = pair % 2 == 0;
    const double first = step_ns(one, folder, data, off_first ? Telemetry::off : Telemetry::on);
    const double second = step_ns(one, folder, data, off_first ? Telemetry::on : Telemetry::off);
    off.push_back(off_first ? first : second);
    on.push_back(off_first ? second : first);
    ratio.push_back(on.back() / off.back());
  }
  std::printf("%-4s %-5s batch %4lld, %-24s off %8.1f us, on %8.1f us, ratio %.4f\n", one.model, one.preset,
              static_cast<long long>(one.batch_size), one.what, median(off) / 1e3, median(on) / 1e3, median(ratio));
  std::fflush(stdout);
}

}  // namespace
}  // namespace reprobench

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: worker_bench DATA_DIR [PART OF WHAT IS RECORDED]\n", stderr);
    return 2;
  }
  const auto folder = std::filesystem::temp_directory_path() / ("reprobench-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const auto& one : reprobench::kCases) {
    if (argc == 2 || std::strstr(one.what, argv[2]) != nullptr) reprobench::compare(one, folder, argv[1]);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
