// operators.jsonl: every operator call of a step, in the order the calls end, so an operator stands after those it
// calls. Lines carry `seq` and `crc32c` like a trace's (contract/trace.hpp).
//
// Two calls with equal names, inputs and constants and different outputs: that operator is where two runs part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace reprobench {

struct OperatorTensor {
  std::string dtype;  // "float32"
  std::vector<std::int64_t> shape;
  std::string digest;  // 32 hex digits; empty: memory nobody has written yet, or that the call overwrites unread
  std::int64_t not_finite = 0;  // elements that are NaN or infinite; 0 where there is no digest

  friend bool operator==(const OperatorTensor&, const OperatorTensor&) = default;
};

struct OperatorRecord {
  std::int64_t step = 0;
  std::int64_t index = 0;  // within its step, from 0
  std::string name;        // "aten::addmm"; a backward node as LibTorch names it, "AddmmBackward0"
  int depth = 0;           // 0: called by the workload, 1: by an operator of depth 0 ...
  std::string pass;        // "forward", "backward", "optimizer"
  std::string module;      // whose output, output gradient or parameter it works for, "h.0.attn.c_attn"
  std::vector<OperatorTensor> inputs;
  std::vector<OperatorTensor> outputs;
  std::string constants;  // other arguments as text, exact: "1, 1e-05 (0x3ee4f8b588e368f1), [8, 64]"
};

nlohmann::json to_json(const OperatorRecord& record);

// Throws ContractError naming the field.
OperatorRecord operator_record_from_json(const nlohmann::json& json);

}  // namespace reprobench
