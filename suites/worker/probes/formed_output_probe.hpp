// Finds which form a stack has of an output that has forms (matrix/orders/formed_output.hpp): each is compared with the
// stack's results on random inputs.
#pragma once

#include <cstdint>
#include <string>

#include "suites/worker/probes/call_order_probe.hpp"

namespace reprobench {

// The first form that gives at least `limits.inputs` rows or channels to the bit, without exception. On half of them
// the sums of a gradient cancel. Throws whatever LibTorch throws.
CallOrder order_of_formed(const SingleCall& call, const FormedOutput& formed, const std::string& output,
                          const RecordedCall& recorded, std::uint64_t seed, const OrderLimits& limits);

}  // namespace reprobench
