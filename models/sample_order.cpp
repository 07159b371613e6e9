#include "models/sample_order.hpp"

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/initial_values.hpp"

namespace reprobench {

SampleOrder::SampleOrder(std::uint64_t seed, std::int64_t dataset_size, std::int64_t batch_size)
    : seed_(seed), batch_size_(batch_size) {
  if (batch_size <= 0 || batch_size > dataset_size) {
    throw std::invalid_argument("batch_size " + std::to_string(batch_size) + " is not between 1 and the data set's " +
                                std::to_string(dataset_size) + " samples");
  }
  batches_per_epoch_ = dataset_size / batch_size;
  permutation_.resize(static_cast<std::size_t>(dataset_size));
}

std::span<const std::int64_t> SampleOrder::batch(std::int64_t step) {
  const std::int64_t epoch = (step - 1) / batches_per_epoch_;
  if (epoch != epoch_) shuffle(epoch);
  const std::int64_t first = (step - 1) % batches_per_epoch_ * batch_size_;
  return std::span(permutation_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(batch_size_));
}

// Fisher-Yates. Scaling 32 random bits to a range of n favours no value by more than n / 2^32.
void SampleOrder::shuffle(std::int64_t epoch) {
  std::iota(permutation_.begin(), permutation_.end(), 0);
  static const std::uint32_t kOrder = tensor_id("sample_order");
  for (std::size_t i = permutation_.size() - 1; i > 0; --i) {
    const std::uint64_t bits = keyed_block(seed_, kOrder, static_cast<std::uint32_t>(epoch), i).word[0];
    std::swap(permutation_[i], permutation_[bits * (i + 1) >> 32]);
  }
  epoch_ = epoch;
}

}  // namespace reprobench
