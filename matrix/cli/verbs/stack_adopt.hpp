// `reprobench stack adopt`: makes a stack of the PyTorch that is installed already.
#pragma once

#include <string>

#include "matrix/cli/verbs/verb.hpp"

namespace reprobench {

// At most one of `python`, `prefix` and `libtorch`; with none, the `python3` of $VIRTUAL_ENV or on PATH is asked.
struct AdoptOptions {
  std::string name = "here";
  std::string python;
  std::string prefix;
  std::string libtorch;
  bool with_gpu = false;
};

// Finds PyTorch, writes matrix/stacks/NAME.yaml, builds the worker and shows what it loads. The result is `failed` if
// it loads another PyTorch than the one found. Throws UsageError, and ProvisionError for an environment that cannot be
// a stack. That error names everything that is wrong, and nothing is written then.
ExitCode adopt_stack(const AdoptOptions& options, const Context& context);

}  // namespace reprobench
