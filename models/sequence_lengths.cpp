#include "models/sequence_lengths.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "models/initial_values.hpp"

namespace reprobench {

SequenceLengths::SequenceLengths(std::uint64_t seed, std::int64_t context) : seed_(seed), buckets_{} {
  if (context < kBuckets) {
    throw std::invalid_argument("a context of " + std::to_string(context) + " tokens has no " +
                                std::to_string(kBuckets) + " lengths");
  }
  for (int i = 0; i < kBuckets; ++i) buckets_[static_cast<std::size_t>(i)] = context * (i + 1) / kBuckets;
}

// Fisher-Yates, as models/sample_order.cpp.
std::int64_t SequenceLengths::of_step(std::int64_t step) const {
  static const std::uint32_t kLengths = tensor_id("sequence_lengths");
  const auto round = static_cast<std::uint32_t>((step - 1) / kBuckets);
  auto order = buckets_;
  for (std::size_t i = kBuckets - 1; i > 0; --i) {
    const std::uint64_t bits = keyed_block(seed_, kLengths, round, i).word[0];
    std::swap(order[i], order[bits * (i + 1) >> 32]);
  }
  return order[static_cast<std::size_t>((step - 1) % kBuckets)];
}

}  // namespace reprobench
