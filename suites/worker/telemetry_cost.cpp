#include "suites/worker/telemetry_cost.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <time.h>
#include <unistd.h>

#include "matrix/contract/knob.hpp"
#include "matrix/contract/result.hpp"
#include "suites/worker/stack_probe.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

// Half a minute on a card, where no more of it is given (ci/gpu.sh).
constexpr int kPairs = 7;
constexpr RecordedCase kCases[] = {
    {"mlp", "base", 32, 1000, Recorded::steps, "root digests"},
    {"gpt2", "tiny", 4, 40, Recorded::steps, "root digests"},
    {"gpt2", "tiny", 4, 40, Recorded::tensors, "every tensor"},
};

double now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

CellRequest request_of(const RecordedCase& one, const std::string& device, std::int64_t steps, Telemetry telemetry) {
  CellRequest request;
  request.workload = {one.model, one.preset, steps, one.batch_size};
  request.device = device;
  request.knobs = with_defaults({});
  request.trace = one.recorded == Recorded::steps            ? TraceLevel::step
                  : one.recorded == Recorded::recent_tensors ? TraceLevel::recent
                                                             : TraceLevel::tensor;
  if (one.recorded == Recorded::operators && telemetry == Telemetry::on) {
    Replay replay;
    replay.last_step = steps;
    replay.operators_from = 1;
    replay.operators_to = steps;
    request.replay = replay;
  }
  return request;
}

// A folder of this process, gone with it.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() / ("reprobench-recording-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

double process_cpu_ns() { return now_ns(CLOCK_PROCESS_CPUTIME_ID); }
double monotonic_ns() { return now_ns(CLOCK_MONOTONIC); }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

RecordingCost recording_cost(const RecordedCase& one, const std::string& device, const std::filesystem::path& folder,
                             const std::filesystem::path& data_folder, int pairs, ClockNs clock) {
  const auto run_ns = [&](std::int64_t steps, Telemetry telemetry) {
    CellResult result;
    const double start = clock();
    run_training(request_of(one, device, steps, telemetry), folder, data_folder, result, telemetry);
    return clock() - start;
  };
  const auto step_ns = [&](Telemetry telemetry) {
    const double whole = run_ns(one.steps, telemetry);
    return (whole - run_ns(1, telemetry)) / static_cast<double>(one.steps - 1);
  };
  RecordingCost cost;
  for (int pair = 0; pair < pairs; ++pair) {
    if (pair % 2 == 0) cost.off_ns.push_back(step_ns(Telemetry::off));
    cost.on_ns.push_back(step_ns(Telemetry::on));
    if (pair % 2 != 0) cost.off_ns.push_back(step_ns(Telemetry::off));
  }
  return cost;
}

nlohmann::json measure_recording_costs(const std::string& device, const std::filesystem::path& data_folder) {
  const ScratchFolder folder;
  // Also what the first use of a library and a kernel costs, which is then behind all pairs.
  CellResult warm;
  run_training(request_of(kCases[1], device, 3, Telemetry::on), folder.path(), data_folder, warm);
  nlohmann::json cases = nlohmann::json::array();
  for (const RecordedCase& one : kCases) {
    const RecordingCost cost = recording_cost(one, device, folder.path(), data_folder, kPairs, &monotonic_ns);
    cases.push_back({{"workload", std::string(one.model) + "/" + one.preset},
                     {"batch_size", one.batch_size},
                     {"steps", one.steps},
                     {"recorded", one.what},
                     {"step_off_ns", cost.off_ns},
                     {"step_on_ns", cost.on_ns}});
  }
  return {{"device", device},
          {"device_name", warm.fingerprint.device_name},
          {"torch", loaded_torch_version()},
          {"cases", std::move(cases)}};
}

}  // namespace reprobench
