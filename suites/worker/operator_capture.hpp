// One operator call with its tensors: what went in, what came out, and what the same operator makes of the same inputs
// in fp64, exactly and moved by one unit in the last place.
//
// Written as input.I, output.I, fp64.I (outputs of the fp64 call); the amplification is metadata: relative change of
// the fp64 outputs over the relative change of the inputs, both L2. A well-conditioned operator has one near 1.
#pragma once

#include <filesystem>
#include <vector>

#include "suites/worker/operator_hook.hpp"

namespace reprobench {

class OperatorCapture {
 public:
  // Copies the inputs as they are before the call.
  explicit OperatorCapture(const OperatorCall& call);
  ~OperatorCapture();
  OperatorCapture(const OperatorCapture&) = delete;
  OperatorCapture& operator=(const OperatorCapture&) = delete;

  // Throws std::system_error where the file cannot be written.
  void finish(const OperatorCall& call, const std::filesystem::path& path) const;

 private:
  std::vector<c10::IValue> inputs_;
};

}  // namespace reprobench
