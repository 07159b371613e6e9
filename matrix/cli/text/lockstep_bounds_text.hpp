// The text of `calibrate --lockstep`.
#pragma once

#include <string>

#include "matrix/inquiry/explain/lockstep_bounds.hpp"

namespace reprobench {

std::string to_text(const LockstepBounds& bounds);

}  // namespace reprobench
