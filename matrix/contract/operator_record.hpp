// operators.jsonl: every operator call of a step, in the order in which the calls end, so an operator comes after those
// it calls. Lines carry `seq` and `crc32c` like a trace's (contract/trace.hpp).
//
// If two runs have calls with equal names, inputs and constants and different outputs, they diverge at that operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

struct OperatorTensor {
  std::string dtype;  // "float32"
  std::vector<std::int64_t> shape;
  std::string digest;           // 32 hex digits; empty: memory not written yet, or that the call overwrites unread
  std::int64_t not_finite = 0;  // elements that are NaN or infinite; 0 if there is no digest
  std::optional<std::int64_t> made_by = {};  // for an input: index of the call that made or last wrote it; -1: no call
  std::string argument = {};  // for an output: the argument that the call fills and does not return, "running_var"

  // Compares values only, wherever they come from.
  friend bool operator==(const OperatorTensor& a, const OperatorTensor& b) {
    return a.dtype == b.dtype && a.shape == b.shape && a.digest == b.digest && a.not_finite == b.not_finite;
  }
};

inline constexpr std::string_view kPasses[] = {"forward", "backward", "optimizer"};

struct OperatorRecord {
  std::int64_t step = 0;
  std::int64_t index = 0;  // within its step, from 0
  std::string name;        // "aten::addmm"; a backward node as LibTorch names it, "AddmmBackward0"
  int depth = 0;           // 0: called by the workload, 1: by an operator of depth 0 ...
  std::string pass;        // kPasses
  std::string module;      // module whose output, output gradient or parameter it works for, "h.0.attn.c_attn"
  std::vector<OperatorTensor> inputs;
  std::vector<OperatorTensor> outputs;
  std::string constants;  // other arguments as text, exact: "1, 1e-05 (0x3ee4f8b588e368f1), [8, 64]"
};

template <>
struct Description<OperatorTensor> {
  static constexpr About about = About::part("operator_tensor");
  static void fields(auto& field, OperatorTensor& tensor) {
    field("dtype", tensor.dtype);
    field("shape", tensor.shape, rule::at_least(0));
    field("digest", tensor.digest,
          rule::hex(32, true).says("Empty: memory nobody has written, or that the call overwrites unread."));
    field("not_finite", tensor.not_finite, rule::at_least(0));
    field.optional("made_by", tensor.made_by,
                   rule::at_least(-1).says("Of an input: index of the call of this step that made or last wrote it; "
                                           "-1: none did; absent: not read, or an older worker."));
    field.optional("argument", tensor.argument,
                   "Of an output: the argument that the call fills and does not return, `running_var`.");
  }
};

template <>
struct Description<OperatorRecord> {
  static constexpr About about = About::line("operators", "operator", "One operator call of a step.");
  static void fields(auto& field, OperatorRecord& record) {
    field("step", record.step);
    field("index", record.index, rule::at_least(0));
    field("name", record.name);
    field("depth", record.depth, rule::at_least(0));
    field("pass", record.pass, rule::one_of(kPasses));
    field("module", record.module);
    field("inputs", record.inputs);
    field("outputs", record.outputs);
    field("constants", record.constants);
  }
};

nlohmann::json to_json(const OperatorRecord& record);

// The record as line number `seq` of its file (trace.hpp). It is built as text, because a step has thousands of calls
// and a tree of values for each would cost too much.
std::string operator_line(const OperatorRecord& record, std::int64_t seq);

// Throws ContractError naming the field.
OperatorRecord operator_record_from_json(const nlohmann::json& json);

}  // namespace reprobench
