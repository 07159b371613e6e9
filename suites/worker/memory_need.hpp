// Predicts how much of this host's memory a training will take, without allocating it. It uses what the model writes
// down of a step (models/activation_tape.hpp), and this process as it is.
#pragma once

#include <filesystem>
#include <span>

#include "matrix/contract/attempt_memory.hpp"
#include "matrix/contract/request.hpp"
#include "models/model_spec.hpp"

namespace reprobench {

// `process_bytes` is the anonymous memory of a worker that has trained nothing.
AttemptMemory memory_need(const CellRequest& request, std::span<const Model* const> all, std::int64_t process_bytes);

// Predictions by this process for the requests in a file, which is a JSON list. Throws ContractError.
MemoryPredictions predict_memory(const std::filesystem::path& requests);

}  // namespace reprobench
