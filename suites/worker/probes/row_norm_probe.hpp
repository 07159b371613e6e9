// Finds the roundings with which a stack computes the mean and the variance of a row, and a layer norm from them. Every
// form that ATen can be compiled to (matrix/orders/row_moments.hpp) is compared with the stack's results on random
// rows.
#pragma once

#include <cstdint>
#include <string>

#include "suites/worker/probes/call_order_probe.hpp"

namespace reprobench {

// The first form that gives at least `limits.inputs` rows to the bit, without exception. A third of them have a mean
// far above their spread, and a third rise. Throws whatever LibTorch throws.
CallOrder order_of_norm(const SingleCall& call, const RowNorm& norm, const RecordedCall& recorded, std::uint64_t seed,
                        const OrderLimits& limits);

// The same for a gradient; `output` is its name.
CallOrder order_of_norm_gradient(const SingleCall& call, const RowNormGradient& norm, const std::string& output,
                                 const RecordedCall& recorded, std::uint64_t seed, const OrderLimits& limits);

}  // namespace reprobench
