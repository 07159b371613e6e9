// What `calibrate --lockstep` prints.
#pragma once

#include <string>

#include "matrix/inquiry/explain/lockstep_bounds.hpp"

namespace reprobench {

std::string to_text(const LockstepBounds& bounds);

}  // namespace reprobench
