// Steps of a trace as bytes, about a tenth of what they take as values, and back without loss. For memory alone: a file
// never has this form.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/trace.hpp"

namespace reprobench {

std::string packed_steps(std::span<const StepRecord> steps);

// `packed` must come from packed_steps.
std::vector<StepRecord> unpacked_steps(std::string_view packed);

}  // namespace reprobench
