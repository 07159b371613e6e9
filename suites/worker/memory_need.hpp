// What a training will take of this host's memory, from what its model writes down of a step
// (models/activation_tape.hpp) and from this process as it is: nothing is allocated.
#pragma once

#include <filesystem>
#include <span>

#include "matrix/contract/attempt_memory.hpp"
#include "matrix/contract/request.hpp"
#include "models/model_spec.hpp"

namespace reprobench {

// `process_bytes`: anonymous memory of a worker that has trained nothing.
AttemptMemory memory_need(const CellRequest& request, std::span<const Model* const> all, std::int64_t process_bytes);

// Of the requests in a file, a JSON list of them, by this process. Throws ContractError.
MemoryPredictions predict_memory(const std::filesystem::path& requests);

}  // namespace reprobench
