// Whether the accumulators of two generations of tensor cores explain why they made different sums of equal factors.
//
// Both sides' rules (kernels/mma) are emulated on the recorded operands. They explain the difference if each gives the
// recorded bits of its own side, and nothing simpler does: not the other side's rule, not a plain fp32 or correctly
// rounded sum. Otherwise no explanation is given, because a kernel may have split k, which is not due to a tensor core.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "matrix/record/safetensors.hpp"

namespace reprobench {

// One side of a diverging product: the device that made it, and its recorded call.
struct ProductSide {
  std::string device;  // "sm_90"
  bool tf32 = false;   // whether its fp32 products were allowed TF32
};

struct AccumulatorFit {
  int elements = 0;          // of the output, emulated
  int telling = 0;           // those of them for which the two rules give different bits
  int measured_matches = 0;  // those whose recorded bits its own rule gives
  int expected_matches = 0;
  int best_other_matches = 0;  // telling elements of one side that another explanation gives, the most of any
  std::string sentence;        // "explained by the accumulator of sm_80 against sm_90: ..."
};

// `operator_name` is "aten::mm", "aten::bmm" or "aten::addmm" (whose first input must be zero). `inputs` and outputs
// are the recorded tensors of the call, row-major. Nothing if the rules are equal, unknown, or do not explain it.
std::optional<AccumulatorFit> explain_by_accumulator(std::string_view operator_name, std::span<const TensorView> inputs,
                                                     const TensorView& measured, const ProductSide& measured_side,
                                                     const TensorView& expected, const ProductSide& expected_side);

}  // namespace reprobench
