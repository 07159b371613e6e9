// Finds the order in which one output of an operator call is added up on this stack. The order is read off the results
// of probes at that call's own shapes, or found among the forms that a layer norm can have. Then it is checked by
// replaying it to the bit on random inputs, half of which cancel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/contract/call_order.hpp"
#include "matrix/orders/order_layout.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

class SingleCall;

struct OrderLimits {
  double seconds = 20;                   // for one output
  std::int64_t inputs = 1000;            // sums to be replayed before an order counts as known
  std::int64_t inputs_of_a_class = 100;  // of these, for every class
  std::size_t classes = 12;
};

// A call that was made once: its tensors, for a gradient also the tensor that the backward pass was given, and the
// output in question.
struct RecordedCall {
  const std::vector<at::Tensor>& tensors;  // on the CPU
  const at::Tensor& made;
};

// The order of `output` ("output.0", "gradient.1"), or why it is not known; and whether it gives the recorded output.
// Throws whatever LibTorch throws.
CallOrder order_of_call(const SingleCall& call, const OrderLayout& layout, const std::string& output,
                        const RecordedCall& recorded, std::uint64_t seed, const OrderLimits& limits = {});

}  // namespace reprobench
