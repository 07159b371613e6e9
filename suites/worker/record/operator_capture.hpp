// One operator call with its tensors: inputs, outputs, and the results of the same operator in fp64. These are of the
// same inputs, exactly and moved by one unit in the last place.
//
// They are written as input.I, output.I, fp64.I (outputs of the fp64 call) and magnitude.I (outputs of the fp64 call on
// the inputs without their signs). For a sum of products, the magnitude is the sum of their sizes, which bounds its
// rounding. exact_input.I is the input as the subgraph of calls before it is meant to make it, or the input itself; the
// fp64 call takes these. The amplification is metadata: relative change of the fp64 outputs over the relative change of
// the inputs, both L2. A well-conditioned operator has one near 1. The metadata also has order.I, the order in which
// the call adds up an output that is a sum: a document of contract/call_order.hpp.
#pragma once

#include <filesystem>
#include <vector>

#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {

class ExactSubgraph;

class OperatorCapture {
 public:
  // Copies the inputs as they are before the call.
  OperatorCapture(const OperatorCall& call, const ExactSubgraph& subgraph);
  ~OperatorCapture();
  OperatorCapture(const OperatorCapture&) = delete;
  OperatorCapture& operator=(const OperatorCapture&) = delete;

  // Throws std::system_error where the file cannot be written.
  void finish(const OperatorCall& call, const ExactSubgraph& subgraph, const std::filesystem::path& path) const;

 private:
  std::vector<c10::IValue> inputs_;
  std::vector<c10::IValue> exact_inputs_;
};

}  // namespace reprobench
