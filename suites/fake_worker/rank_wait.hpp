// How ranks that do nothing wait for each other.
#pragma once

#include <cstdint>
#include <filesystem>

#include "matrix/contract/request.hpp"

namespace reprobench {

// A made-up all-reduce: returns once every rank of the attempt has come to this step.
void wait_for_ranks(const CellRequest& request, const std::filesystem::path& folder, std::int64_t step);

}  // namespace reprobench
