// A cell's notes on the user's files that it trained with.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"

namespace reprobench {

// "data: /my.json, SHA-256 1f0c...: of 14 records 13 are samples, 1 has no room for a response in the context; of 2
// samples the response is cut"; "weights: /my/gpt2, SHA-256 0c1f...: 52 tensors are loaded, 14 are drawn, 4 of the file
// are passed over". `result` is null where no attempt completed. Empty if the cell trains on its model's own data and
// initial weights.
std::vector<std::string> own_file_notes(const WorkloadRequest& workload, const CellResult* result);

}  // namespace reprobench
