// What a cell's notes say of a file of the user's that it trained on.
#pragma once

#include <string>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"

namespace reprobench {

// "data: /my.json, SHA-256 1f0c...: of 14 records 13 are samples, 1 has no room for a response in the context; of 2
// samples the response is cut". `result` is null where no attempt completed. Empty: the cell trains on its model's own
// data.
std::string data_note(const WorkloadRequest& workload, const CellResult* result);

}  // namespace reprobench
