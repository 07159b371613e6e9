// The memory that a ZeRO configuration needs on each GPU and each host, item by item.
//
// `least` is the memory of parameters, gradients and optimizer states alone: sections 3 and 5 of the ZeRO paper
// (Rajbhandari et al., arXiv:1910.02054), with the host's share as in DeepSpeed's page "Memory Requirements"
// (docs/code-docs/source/memory.rst). It is a lower bound: a configuration that exceeds the limit cannot run. `likely`
// adds the buffers whose sizes the configuration states, or is DeepSpeed's own estimate of that page if that is more.
// Activations, the CUDA context and fragmentation are in neither. So it is never claimed that a training fits, only
// that its model states do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/lint/config.hpp"
#include "matrix/lint/situation.hpp"

namespace reprobench {

struct MemoryItem {
  std::string name;     // "optimizer states"
  std::string formula;  // "12 B x 7000000000 / 8"
  std::int64_t bytes = 0;
};

// The need of one GPU, or of one host.
struct MemoryNeed {
  std::vector<MemoryItem> states;
  std::vector<MemoryItem> buffers;
  std::int64_t estimator_bytes = 0;  // DeepSpeed's own estimate; 0: it has none for this stage
  std::int64_t least_bytes = 0;
  std::int64_t likely_bytes = 0;
  std::optional<std::int64_t> limit_bytes;  // the memory that is available
  std::string limit_source;
};

struct MemoryEstimate {
  std::string unknown;  // why there is no estimate; empty if there is one
  std::int64_t parameters = 0;
  std::int64_t ranks = 0;
  std::int64_t ranks_per_host = 0;
  int stage = 0;
  std::int64_t element_bytes = 0;  // size of a parameter in the forward pass
  MemoryNeed gpu;
  MemoryNeed host;
  std::int64_t nvme_bytes = 0;  // on the offload folders of one host
  std::vector<std::string> assumptions;
};

MemoryEstimate estimate_memory(const DeepSpeedConfig& config, const DeepSpeedSettings& settings,
                               const LintSituation& situation);

// "15.93 GiB".
std::string gibibytes(std::int64_t bytes);

}  // namespace reprobench
