// Knobs as they are given on the command line.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/knob.hpp"

namespace reprobench {

// Of options NAME=VALUE; of two with one name the later holds. Throws UsageError for a name or a value that is none,
// with the nearest one.
KnobValues given_knobs(const std::vector<std::string>& options);

}  // namespace reprobench
