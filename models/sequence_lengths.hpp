// The length of a step's sequences where lengths change from step to step (the knob `sequence_lengths`). It is one of
// four buckets, which are a quarter, a half, three quarters and all of the preset's context. Every four steps use each
// bucket once, in an order from our own generator. So lengths follow from seed and step alone on every stack.
#pragma once

#include <array>
#include <cstdint>

namespace reprobench {

class SequenceLengths {
 public:
  static constexpr int kBuckets = 4;

  // Throws std::invalid_argument for a context of fewer tokens than there are buckets.
  SequenceLengths(std::uint64_t seed, std::int64_t context);

  std::int64_t of_step(std::int64_t step) const;  // 1-based

 private:
  std::uint64_t seed_;
  std::array<std::int64_t, kBuckets> buckets_;
};

}  // namespace reprobench
