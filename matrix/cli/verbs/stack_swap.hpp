// `stack swap`: makes a stack with components of another one, proven by build ids.
#pragma once

#include <string>
#include <vector>

#include "matrix/cli/verbs/verb.hpp"

namespace reprobench {

struct SwapOptions {
  std::string base;
  std::vector<std::string> with;  // COMPONENT=STACK
  std::string name;
};

// Refuses libraries that may not meet, before anything is written. Returns `failed` if the worker has loaded another
// library than the one that was to be exchanged in.
ExitCode swap_components(const SwapOptions& options, const Context& context);

}  // namespace reprobench
