// Steps of a trace, and the tensors of steps, as bytes and back without loss. A step takes about a tenth of what it
// takes as a value, a tensor without sketch a thirtieth: from step to step its digest alone changes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/trace.hpp"

namespace reprobench {

std::string packed(std::span<const StepRecord> steps);
std::string packed(std::span<const TensorsRecord> tensors);

// `bytes` must come from packed().
template <class Record>
std::vector<Record> unpacked(std::string_view bytes);
template <>
std::vector<StepRecord> unpacked(std::string_view bytes);
template <>
std::vector<TensorsRecord> unpacked(std::string_view bytes);

}  // namespace reprobench
