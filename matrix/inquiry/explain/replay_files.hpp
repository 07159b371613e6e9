// What replays leave beside their trace, read. A completed replay without the file it was asked for, or with a broken
// one, shows nothing: all of this throws ReplayFailed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "matrix/inquiry/replays.hpp"
#include "matrix/record/operator_reader.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

SafetensorsFile tensors_left_in(const std::filesystem::path& folder, const std::string& file);

// Whole, with calls of every step from `first` to `last`.
OperatorCalls operators_left_in(const std::filesystem::path& folder, std::int64_t first, std::int64_t last);

}  // namespace reprobench
