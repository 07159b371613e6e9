#include "matrix/contract/replay.hpp"

namespace reprobench {

std::vector<OperatorSite> Replay::captures() const {
  if (!capture) return {};
  std::vector<OperatorSite> sites{*capture};
  sites.insert(sites.end(), further_captures.begin(), further_captures.end());
  return sites;
}

std::string snapshot_file(std::int64_t step) { return "state-" + std::to_string(step) + ".safetensors"; }
std::string gradients_file(std::int64_t step) { return "gradients-" + std::to_string(step) + ".safetensors"; }
std::string operator_tensors_file(std::size_t number) {
  return number == 0 ? kOperatorTensorsFile : "operator-" + std::to_string(number) + ".safetensors";
}

}  // namespace reprobench
