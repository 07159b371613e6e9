// The one train loop: every workload, every stack.
#pragma once

#include <filesystem>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"

namespace reprobench {

// Runs the request and fills in `result` as it goes, so that after a throw it says how far the run came. Writes
// FOLDER/trace.jsonl. Throws RunFailure with its cause, or whatever LibTorch throws.
void run_training(const CellRequest& request, const std::filesystem::path& folder,
                  const std::filesystem::path& data_folder, CellResult& result);

}  // namespace reprobench
