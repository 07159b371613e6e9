// Which samples make up the batch of a step: a new permutation of the data set every epoch, from our own generator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprobench {

class SampleOrder {
 public:
  // Throws std::invalid_argument unless 0 < batch_size <= dataset_size.
  SampleOrder(std::uint64_t seed, std::int64_t dataset_size, std::int64_t batch_size);

  // Sample indices of the batch of `step` (1-based). The view lasts until the next call. An epoch ends with its last
  // whole batch; the rest of its permutation is dropped.
  std::span<const std::int64_t> batch(std::int64_t step);

 private:
  void shuffle(std::int64_t epoch);

  std::uint64_t seed_;
  std::int64_t batch_size_;
  std::int64_t batches_per_epoch_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> permutation_;
};

}  // namespace reprobench
