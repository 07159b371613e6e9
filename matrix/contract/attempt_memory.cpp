#include "matrix/contract/attempt_memory.hpp"

#include <array>
#include <cstdio>

#include "matrix/contract/document/reader.hpp"

namespace reprobench {

nlohmann::json to_json(const MemoryPredictions& predictions) { return written(predictions); }

MemoryPredictions memory_predictions_from_json(const nlohmann::json& json) {
  return read_document<MemoryPredictions>(json);
}

std::string arithmetic_of(const AttemptMemory& need) {
  const auto gigabytes = [](std::int64_t bytes) { return static_cast<double>(bytes) * 1e-9; };
  std::array<char, 320> text{};
  std::snprintf(text.data(), text.size(),
                "%.1f GB: %.1f parameters + %.1f gradients + %.1f optimizer + %.1f scratch + %.1f buffers + %.1f "
                "activations + %.1f holes + %.1f process",
                gigabytes(need.total()), gigabytes(need.parameter_bytes), gigabytes(need.gradient_bytes),
                gigabytes(need.optimizer_bytes), gigabytes(need.scratch_bytes), gigabytes(need.buffer_bytes),
                gigabytes(need.activation_bytes), gigabytes(need.hole_bytes), gigabytes(need.process_bytes));
  return text.data();
}

}  // namespace reprobench
