#include "kernels/latency/chain.hpp"

#include <numeric>
#include <utility>

#include "kernels/philox/philox.hpp"

namespace reprobench {

std::vector<std::uint64_t> make_chain(std::uint64_t nodes, std::uint64_t stride_words, std::uint32_t seed) {
  std::vector<std::uint64_t> next(nodes);
  std::iota(next.begin(), next.end(), std::uint64_t{0});
  for (std::uint64_t i = nodes; i > 1; --i) {
    const PhiloxBlock random = keyed_block({seed, 0, 0}, i);
    const std::uint64_t other = (static_cast<std::uint64_t>(random.word[0]) << 32 | random.word[1]) % (i - 1);
    std::swap(next[i - 1], next[other]);
  }
  std::vector<std::uint64_t> chain(nodes * stride_words);
  for (std::uint64_t i = 0; i < nodes; ++i) chain[i * stride_words] = next[i] * stride_words;
  return chain;
}

std::uint64_t walk_chain(const std::vector<std::uint64_t>& chain, std::uint64_t start, std::uint64_t steps) {
  std::uint64_t at = start;
  for (std::uint64_t step = 0; step < steps; ++step) at = chain[at];
  return at;
}

}  // namespace reprobench
