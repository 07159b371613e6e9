// A sum of fp32 numbers in one fixed order: the same bits on every GPU and CPU, for any launch shape.
//
// The order: chunks of 16,384 elements; in a chunk 1,024 lanes, lane j adding elements j, j + 1024, … from +0 on; then
// neighbouring lanes are added pairwise until one is left. The chunks' sums are summed likewise, until one is left. All
// additions are fp32. A sum that is NaN is the quiet NaN without sign and payload: the NaN that two operands give
// differs between processors.
#pragma once

#include <cstdint>
#include <span>

namespace reprobench {

float fixed_order_sum(std::span<const float> values);

}  // namespace reprobench
