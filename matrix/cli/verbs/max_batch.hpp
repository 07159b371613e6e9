// `reprobench describe workload NAME --max-batch`: the largest batch that fits, and how a larger one is trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/cli/verbs/verb.hpp"

namespace reprobench {

struct MaxBatchOptions {
  std::string model;
  std::string preset;  // empty: the model's first
  std::string stack;   // empty: the first that is installed
  std::string memory;  // "4GB"; empty: what is free
  std::int64_t batch_size = 0;
  std::vector<std::string> knobs;
  std::vector<std::string> workers;
  bool json = false;
};

// Throws UsageError for an unknown model, preset, knob or stack, and for text that is no size.
ExitCode max_batch(const MaxBatchOptions& options, const Context& context);

}  // namespace reprobench
