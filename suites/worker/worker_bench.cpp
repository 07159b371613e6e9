// What recording costs: wall time a step with and without it, at level `step`, interleaved in one process. Google
// Benchmark is not used because the two sides must alternate within seconds on a shared machine.
//
//   worker_bench DATA_DIR     batch size, median step time without and with telemetry, and the median ratio of pairs
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <vector>

#include <unistd.h>

#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

constexpr int kPairs = 21;

CellRequest request_of(std::int64_t batch_size, std::int64_t steps) {
  CellRequest request;
  request.workload = {"mlp", "base", steps, batch_size};
  request.device = "cpu";
  request.knobs = with_defaults({});
  return request;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kPairs / 2, values.end());
  return values[kPairs / 2];
}

double wall_ns(const CellRequest& request, const std::filesystem::path& folder, const char* data, Telemetry telemetry) {
  CellResult result;
  const auto start = std::chrono::steady_clock::now();
  run_training(request, folder, data, result, telemetry);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// Time a step: a long run less a short one, which takes set-up, header and final line out.
double step_ns(std::int64_t batch_size, std::int64_t steps, const std::filesystem::path& folder, const char* data,
               Telemetry telemetry) {
  const double whole = wall_ns(request_of(batch_size, steps), folder, data, telemetry);
  const double set_up = wall_ns(request_of(batch_size, 1), folder, data, telemetry);
  return (whole - set_up) / static_cast<double>(steps - 1);
}

void compare(std::int64_t batch_size, std::int64_t steps, const std::filesystem::path& folder, const char* data) {
  std::vector<double> off;
  std::vector<double> on;
  std::vector<double> ratio;
  for (int pair = 0; pair < kPairs; ++pair) {
    const bool off_first = pair % 2 == 0;
    const double first = step_ns(batch_size, steps, folder, data, off_first ? Telemetry::off : Telemetry::on);
    const double second = step_ns(batch_size, steps, folder, data, off_first ? Telemetry::on : Telemetry::off);
    off.push_back(off_first ? first : second);
    on.push_back(off_first ? second : first);
    ratio.push_back(on.back() / off.back());
  }
  std::printf("batch %4lld: off %8.1f us, on %8.1f us, ratio %.4f\n", static_cast<long long>(batch_size),
              median(off) / 1e3, median(on) / 1e3, median(ratio));
}

}  // namespace
}  // namespace reprobench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: worker_bench DATA_DIR\n", stderr);
    return 2;
  }
  const auto folder = std::filesystem::temp_directory_path() / ("reprobench-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  reprobench::compare(1, 2000, folder, argv[1]);
  reprobench::compare(32, 1500, folder, argv[1]);
  reprobench::compare(256, 400, folder, argv[1]);
  std::filesystem::remove_all(folder);
  return 0;
}
