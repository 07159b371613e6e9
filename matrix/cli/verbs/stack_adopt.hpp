// `reprobench stack adopt`: the PyTorch that is there, taken as a stack.
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

// Finds it, writes matrix/stacks/NAME.yaml, builds the worker and shows what it loads. `failed` if that is another than
// what was found. Throws UsageError, and ProvisionError for an environment of which no stack can be made: with
// everything that is wrong, and nothing written.
ExitCode adopt_stack(const AdoptOptions& options, const Context& context);

}  // namespace reprobench
