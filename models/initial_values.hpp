// Random numbers of a workload, keyed (seed, tensor name, step, element): the same bits on every stack and device.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/philox/philox.hpp"

namespace reprobench {

// The sequence that a draw belongs to. The id is FNV-1a of the name, so adding a tensor moves no other tensor's
// numbers.
std::uint32_t tensor_id(std::string_view name);

PhiloxBlock keyed_block(std::uint64_t seed, std::uint32_t tensor, std::uint32_t step, std::uint64_t element);

// Each value is `mean` plus `scale` times a bell-shaped number of variance 1 (philox.hpp). There is one rounding for
// the product and one for the sum, which is exact if mean or scale is 0.
std::vector<float> initial_values(std::uint64_t seed, std::string_view name, std::size_t count, float scale,
                                  float mean = 0);

}  // namespace reprobench
