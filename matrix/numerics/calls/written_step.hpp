// For tests: the operator calls of one step, written down by hand.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

// A step written down by hand. A value is named by its digest; a call's index is that of its start.
class WrittenStep {
 public:
  WrittenStep& call(const std::string& name, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::string& constants = "") {
    return add(name, inputs, outputs, constants, depth_, next_++);
  }
  // A call that returns a view of its input. The view has no digest, but the record says who made the value.
  WrittenStep& view(const std::string& name, std::int64_t made_by, const std::string& constants = "") {
    call(name, {""}, {""}, constants);
    calls.back().inputs[0].made_by = made_by;
    return *this;
  }
  // The last call's input `place` was made by call `index`.
  WrittenStep& from(std::size_t place, std::int64_t index) {
    calls.back().inputs[place].made_by = index;
    return *this;
  }
  template <class Callees>
  WrittenStep& caller(const std::string& name, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs, const Callees& callees) {
    const std::int64_t index = next_++;
    ++depth_;
    callees(*this);
    --depth_;
    return add(name, inputs, outputs, "", depth_, index);
  }
  WrittenStep& in(const std::string& pass, const std::string& module) {
    pass_ = pass;
    module_ = module;
    return *this;
  }
  WrittenStep& of(const std::string& dtype) {
    calls.back().outputs[0].dtype = dtype;
    return *this;
  }

  std::vector<OperatorRecord> calls;

 private:
  WrittenStep& add(const std::string& name, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, const std::string& constants, int depth,
                   std::int64_t index) {
    OperatorRecord record;
    record.step = 1;
    record.index = index;
    record.name = name;
    record.depth = depth;
    record.pass = pass_;
    record.module = module_;
    for (const std::string& digest : inputs) record.inputs.push_back({"float32", {2, 3}, digest});
    for (const std::string& digest : outputs) record.outputs.push_back({"float32", {2, 3}, digest});
    record.constants = constants;
    calls.push_back(record);
    return *this;
  }

  std::int64_t next_ = 0;
  int depth_ = 0;
  std::string pass_ = "forward";
  std::string module_ = "h.0";
};

}  // namespace reprobench
