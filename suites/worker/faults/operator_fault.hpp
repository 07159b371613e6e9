// Planted faults inside LibTorch's operators: a call's outputs are replaced by what a faulty or merely different
// implementation would give. Each kind is one row of the table in operator_fault.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "matrix/contract/request.hpp"
#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {

class OperatorFault : public OperatorListener {
 public:
  // Null if `injection.kind` is none of these.
  static std::unique_ptr<OperatorFault> create(const Injection& injection);

  // Counts a step's calls anew.
  virtual void begin_step(std::int64_t step) = 0;

  // Whether a call has been changed so far, or was to be before this process began to train.
  virtual bool is_met() const = 0;
};

}  // namespace reprobench
