// What the two words after `compare` mean: cells of stored runs, or stacks on which a workload is run now.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matrix/cli/comparison.hpp"

namespace reprobench {

// The workload of a comparison of stacks.
struct WorkloadChoice {
  std::string model = "mlp";
  std::string preset;  // empty: the model's first
  std::int64_t steps = 20;
  std::int64_t batch_size = 0;  // 0: the preset's usual one
  KnobValues measured_knobs;    // those that are not the default
  KnobValues expected_knobs;
};

using SidePair = std::pair<ComparedSide, ComparedSide>;

// Every pair of completed cells of two runs with equal coordinates but for the stack and the swept knobs. `a`, `b`: run
// id or directory, each with `:CELL` or without. Throws UsageError if nothing pairs up: two runs without a common cell
// are never "no difference".
std::vector<SidePair> sides_of_runs(const std::filesystem::path& store, const std::string& a, const std::string& b);

// Runs the workload on both stacks with every tensor digested. `capability` of a stack says what presets there are.
SidePair sides_of_stacks(const std::string& a, const std::string& b, const WorkloadChoice& choice,
                         const Capability& capability, ReplayRunner& replays);

}  // namespace reprobench
