#include "matrix/contract/operator_record.hpp"

#include "matrix/contract/json_field.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kOperators = "operators";

json tensors_to_json(const std::vector<OperatorTensor>& tensors) {
  json list = json::array();
  for (const OperatorTensor& tensor : tensors) {
    list.push_back({{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"digest", tensor.digest},
                    {"not_finite", tensor.not_finite}});
  }
  return list;
}

std::vector<OperatorTensor> tensors_from_json(const json& list) {
  std::vector<OperatorTensor> tensors;
  for (const json& tensor : list) {
    tensors.push_back({required<std::string>(kOperators, tensor, "dtype"),
                       required<std::vector<std::int64_t>>(kOperators, tensor, "shape"),
                       required<std::string>(kOperators, tensor, "digest"),
                       required<std::int64_t>(kOperators, tensor, "not_finite")});
  }
  return tensors;
}

}  // namespace

json to_json(const OperatorRecord& record) {
  return {{"kind", "operator"},
          {"step", record.step},
          {"index", record.index},
          {"name", record.name},
          {"depth", record.depth},
          {"pass", record.pass},
          {"module", record.module},
          {"inputs", tensors_to_json(record.inputs)},
          {"outputs", tensors_to_json(record.outputs)},
          {"constants", record.constants}};
}

OperatorRecord operator_record_from_json(const json& object) {
  return {required<std::int64_t>(kOperators, object, "step"),
          required<std::int64_t>(kOperators, object, "index"),
          required<std::string>(kOperators, object, "name"),
          required<int>(kOperators, object, "depth"),
          required<std::string>(kOperators, object, "pass"),
          required<std::string>(kOperators, object, "module"),
          tensors_from_json(required<std::vector<json>>(kOperators, object, "inputs")),
          tensors_from_json(required<std::vector<json>>(kOperators, object, "outputs")),
          required<std::string>(kOperators, object, "constants")};
}

}  // namespace reprobench
