// The cost of recording for a training: the same steps with and without it, in turn, in one process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "matrix/contract/request.hpp"

namespace reprobench {

enum class Recorded { steps, recent_tensors, tensors, operators };

// A training whose steps are timed, for example 1,000 steps of mlp/base with the root digests of each.
struct RecordedCase {
  const char* model;
  const char* preset;
  std::int64_t batch_size;
  std::int64_t steps;  // at least 2
  Recorded recorded;
  const char* what;  // the name of `recorded`, for people
};

// Time of a step in ns, the mean of a run's; one value a pair, whose sides were measured one after the other.
struct RecordingCost {
  std::vector<double> off_ns;
  std::vector<double> on_ns;
};

using ClockNs = double (*)();

double process_cpu_ns();  // of all threads: other work on a shared machine does not count
double monotonic_ns();    // for a GPU, whose time is no CPU time

// Measures both sides `pairs` times; they take turns in being first. The time of a step comes from a long run less a
// run of a single step, which takes set-up, header and final line out. When a run ends, its device has ended too.
// Writes into `folder`. Throws what run_training throws.
RecordingCost recording_cost(const RecordedCase& one, const std::string& device, const std::filesystem::path& folder,
                             const std::filesystem::path& data_folder, int pairs, ClockNs clock);

double median(std::vector<double> values);

// {"device", "device_name", "torch", "cases": [{"workload", "batch_size", "steps", "recorded", "step_off_ns": [..],
// "step_on_ns": [..]}]}. The cases record root digests or every tensor, as the loop does. Times are wall time, which
// says something only on a quiet machine. `device` is as in a request.
nlohmann::json measure_recording_costs(const std::string& device, const std::filesystem::path& data_folder);

}  // namespace reprobench
