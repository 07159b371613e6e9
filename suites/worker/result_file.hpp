// result.json: written under a temporary name, synced and renamed, so a reader sees all of it or nothing.
#pragma once

#include <filesystem>

#include "matrix/contract/result.hpp"

namespace reprobench {

// Throws std::system_error.
void write_result(const std::filesystem::path& path, const CellResult& result);

}  // namespace reprobench
