#include "matrix/contract/number.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/verdict/difference_json.hpp"
#include "matrix/verdict/lockstep.hpp"

namespace reprobench {
namespace {

nlohmann::json pooled_json(const LockstepTensor& tensor) {
  if (!tensor.pooled) return nullptr;
  return {{"error_ratio", json_number(tensor.pooled->ratio)},
          {"bound", json_number(tensor.pooled_decision.bound)},
          {"upper", json_number(tensor.pooled_decision.upper)},
          {"spread_log", json_number(tensor.pooled->spread_log)},
          {"effective_batches", json_number(tensor.pooled->effective_batches)},
          {"decision", to_string(tensor.pooled_decision.decision)},
          {"reason", tensor.pooled_decision.reason},
          {"batches_needed", tensor.pooled_decision.batches_needed}};
}

nlohmann::json tensor_json(const LockstepTensor& tensor) {
  return {{"name", tensor.name},
          {"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"word", to_string(tensor.word)},
          {"reason", tensor.reason},
          {"equal_bits", tensor.equal_bits},
          {"worst_batch", tensor.worst_batch},
          {"e_x", json_number(tensor.e_x)},
          {"e_r", json_number(tensor.e_r)},
          {"delta", json_number(tensor.delta)},
          {"error_ratio", json_number(tensor.error_ratio)},
          {"error_ratio_bound", json_number(tensor.error_ratio_bound)},
          {"triangle", json_number(tensor.triangle)},
          {"pooled", pooled_json(tensor)},
          {"ulp_histogram", ulp_histogram_json(tensor.ulp_histogram)},
          {"max_ulp", tensor.max_ulp},
          {"nan_mismatches", tensor.nan_mismatches},
          {"inf_mismatches", tensor.inf_mismatches}};
}

}  // namespace

nlohmann::json to_json(const Lockstep& lockstep) {
  nlohmann::json object = document("lockstep");
  object["precision"] = lockstep.options.precision;
  object["alpha"] = lockstep.options.alpha;
  object["legitimate_ratio"] = json_number(lockstep.options.legitimate_ratio);
  object["batches"] = lockstep.batches;
  object["word"] = to_string(lockstep.word);
  object["sentence"] = lockstep.sentence;
  object["tensors"] = nlohmann::json::array();
  for (const LockstepTensor& tensor : lockstep.tensors) object["tensors"].push_back(tensor_json(tensor));
  object["not_resolved"] = lockstep.not_resolved;
  return object;
}

}  // namespace reprobench
