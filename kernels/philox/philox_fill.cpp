#include "kernels/philox/philox_fill.hpp"

#include <algorithm>

namespace reprobench {

void fill_bits(PhiloxStream stream, std::span<std::uint32_t> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = keyed_block(stream, i / 4).word[i % 4];
}

void fill_bell(PhiloxStream stream, float scale, float mean, std::span<float> values) {
  if (scale == 0) {  // biases: nothing to draw
    std::fill(values.begin(), values.end(), mean);
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = bell_draw(keyed_block(stream, i), scale, mean);
}

}  // namespace reprobench
