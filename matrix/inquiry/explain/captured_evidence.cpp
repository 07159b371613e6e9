#include "matrix/inquiry/explain/captured_evidence.hpp"

#include <string_view>

#include <fmt/format.h>

#include "kernels/digest/digest.hpp"
#include "matrix/base/safetensors.hpp"

namespace reprobench {
namespace {

bool is_on_record(const OperatorTensor& record, const TensorView& captured) {
  const SafetensorsDtype* dtype = safetensors_dtype_of_torch(record.dtype);
  return dtype != nullptr && captured.dtype == dtype->name && captured.shape == record.shape &&
         to_hex(tensor_digest(record.dtype, captured.shape, captured.bytes)) == record.digest;
}

std::string captured_otherwise(const OperatorTensor& record, const std::string& name, std::string_view of,
                               const SafetensorsFile& file) {
  if (record.digest.empty()) return "";
  const TensorView* captured = find_tensor(file.tensors(), name);
  if (captured == nullptr) return fmt::format("{} of {} was not captured", name, of);
  if (is_on_record(record, *captured)) return "";
  return fmt::format("{} of {} was captured with other values than are on record", name, of);
}

}  // namespace

std::string captured_otherwise(const OperatorRecord& call, const SafetensorsFile& file) {
  for (const auto& [kind, tensors] : {std::pair("input", &call.inputs), std::pair("output", &call.outputs)}) {
    for (std::size_t i = 0; i < tensors->size(); ++i) {
      std::string problem = captured_otherwise((*tensors)[i], fmt::format("{}.{}", kind, i), call.name, file);
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

std::string captured_otherwise(const OperatorSubgraph& subgraph, const SafetensorsFile& file) {
  const std::string name = fmt::format("{}.{}", subgraph.is_taken ? "input" : "output", subgraph.place);
  return captured_otherwise(subgraph.outflow, name, subgraph.at.name, file);
}

}  // namespace reprobench
