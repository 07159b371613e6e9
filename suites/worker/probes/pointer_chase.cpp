#include "suites/worker/probes/pointer_chase.hpp"

#include <numeric>
#include <utility>

#include "models/initial_values.hpp"

namespace reprobench {

std::vector<std::uint32_t> single_cycle(std::uint64_t seed, std::size_t lines) {
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0);
  const std::uint32_t stream = tensor_id("pointer_chase");
  for (std::size_t i = lines - 1; i >= 1; --i) {
    // The modulus favours small indices by less than lines / 2^32, which no latency shows.
    const std::size_t other = keyed_block(seed, stream, 0, i).word[0] % i;
    std::swap(order[i], order[other]);
  }
  return order;
}

ChaseBlock::ChaseBlock(std::uint64_t seed, std::size_t bytes) : lines_(bytes / kChaseLineBytes), block_(lines_) {
  const std::vector<std::uint32_t> next = single_cycle(seed, lines_);
  for (std::size_t i = 0; i < lines_; ++i) block_[i].next = next[i];
}

std::uint32_t ChaseBlock::walk(std::uint32_t from, std::size_t steps) const {
  const Line* lines = block_.data();
  std::uint32_t at = from;
  for (std::size_t step = 0; step < steps; ++step) at = lines[at].next;
  return at;
}

}  // namespace reprobench
