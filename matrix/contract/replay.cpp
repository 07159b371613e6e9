#include "matrix/contract/replay.hpp"

namespace reprobench {

std::string snapshot_file(std::int64_t step) { return "state-" + std::to_string(step) + ".safetensors"; }
std::string gradients_file(std::int64_t step) { return "gradients-" + std::to_string(step) + ".safetensors"; }

}  // namespace reprobench
