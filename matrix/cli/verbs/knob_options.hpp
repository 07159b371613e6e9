// Knobs as they are given on the command line.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/knob.hpp"

namespace reprobench {

// The knobs of options NAME=VALUE. Of two with the same name the later one holds. Throws UsageError for an unknown name
// or value, with the nearest one.
KnobValues given_knobs(const std::vector<std::string>& options);

}  // namespace reprobench
