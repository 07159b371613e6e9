// `compare A B --only COMPONENT`: what one component changes by itself (matrix/cli/only_component.hpp).
#pragma once

#include <string>

#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/exit_code.hpp"
#include "matrix/inquiry/compared_sides.hpp"

namespace reprobench {

struct CompareOnlyOptions {
  std::string measured;  // A, a stack of wheels
  std::string expected;  // B
  std::string component;
  WorkloadChoice workload;  // its measured knobs are those of all three
  double margin_percent = 5;
  bool json = false;
};

// Throws UsageError for a component that cannot be exchanged or does not differ, and ProvisionError with the rule that
// the mix breaks. Nothing has run then.
ExitCode compare_only(const CompareOnlyOptions& options, Context& context);

}  // namespace reprobench
