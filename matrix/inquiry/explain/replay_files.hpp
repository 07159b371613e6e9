// Reads the files that replays leave beside their trace. A completed replay without the file that it was asked for, or
// with a broken one, shows nothing, so all functions throw ReplayFailed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "matrix/inquiry/replays.hpp"
#include "matrix/record/operator_reader.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

SafetensorsFile tensors_left_in(const std::filesystem::path& folder, const std::string& file);

// Reads operator calls, which must be whole and cover every step from `first` to `last`.
OperatorCalls operators_left_in(const std::filesystem::path& folder, std::int64_t first, std::int64_t last);

}  // namespace reprobench
