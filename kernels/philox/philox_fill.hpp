// Tensors of random numbers on the CPU, the twins of the kernels in philox.cu: the same bits on every device.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/philox/philox.hpp"

namespace reprobench {

// Element i is word i mod 4 of block i / 4 of the sequence.
void fill_bits(PhiloxStream stream, std::span<std::uint32_t> values);

// Element i is bell_draw of block i: initial weights (models/initial_values.hpp).
void fill_bell(PhiloxStream stream, float scale, float mean, std::span<float> values);

}  // namespace reprobench
