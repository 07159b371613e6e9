// In which order one output of an operator call is added up on this stack: read off the results of probes at that
// call's own shapes, or found among the forms that a layer norm can have, then checked by replaying it on random
// inputs, half of which cancel, to the bit.
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
  std::int64_t inputs_of_a_class = 100;  // of every class among them
  std::size_t classes = 12;
};

// What a call did once: its tensors, for a gradient also what the backward pass was given, and the output that is asked
// for.
struct RecordedCall {
  const std::vector<at::Tensor>& tensors;  // on the CPU
  const at::Tensor& made;
};

// The order of `output` ("output.0", "gradient.1"), or why it is not known; and whether it gives what is on record.
// Throws whatever LibTorch throws.
CallOrder order_of_call(const SingleCall& call, const OrderLayout& layout, const std::string& output,
                        const RecordedCall& recorded, std::uint64_t seed, const OrderLimits& limits = {});

}  // namespace reprobench
