#include "suites/worker/ranks/gradient_sum.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>

#include "suites/worker/ranks/rank_group.hpp"

namespace reprobench {
namespace {

// What is gathered at once: large enough that calls cost little, small enough that every rank's share fits in memory
// beside the gradients. A tensor larger than that goes alone.
constexpr std::int64_t kBucketBytes = std::int64_t{4} << 20;

using Tensors = std::vector<at::Tensor>;

std::int64_t bytes_of(const at::Tensor& tensor) { return static_cast<std::int64_t>(tensor.nbytes()); }

// How many of the first `terms` make the next bucket.
std::size_t next_bucket(std::span<const at::Tensor> terms) {
  std::size_t count = 1;
  std::int64_t bytes = bytes_of(terms[0]);
  while (count < terms.size() && bytes + bytes_of(terms[count]) <= kBucketBytes) bytes += bytes_of(terms[count++]);
  return count;
}

}  // namespace

struct PairwiseSum::Partial {
  Tensors sums;
  std::int64_t terms;
};

PairwiseSum::PairwiseSum() = default;
PairwiseSum::~PairwiseSum() = default;

void PairwiseSum::add(Tensors terms) {
  partials_.push_back({std::move(terms), 1});
  while (partials_.size() > 1 && partials_[partials_.size() - 2].terms == partials_.back().terms) add_last_two();
}

Tensors PairwiseSum::take() {
  while (partials_.size() > 1) add_last_two();
  Tensors sums = std::move(partials_.front().sums);
  partials_.clear();
  return sums;
}

// Into new memory: a trace may still hold the terms.
void PairwiseSum::add_last_two() {
  const Partial right = std::move(partials_.back());
  partials_.pop_back();
  Partial& left = partials_.back();
  for (std::size_t i = 0; i < left.sums.size(); ++i) left.sums[i] = at::add(left.sums[i], right.sums[i]);
  left.terms += right.terms;
}

namespace {

Tensors bucket_over_ranks(const Tensors& bucket, RankGroup& ranks) {
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : bucket) {
    if (tensor.scalar_type() != bucket.front().scalar_type()) throw std::logic_error("a bucket of several types");
    elements += tensor.numel();
  }
  at::Tensor own = at::empty({elements}, bucket.front().options());
  std::int64_t place = 0;
  for (const at::Tensor& tensor : bucket) {
    own.narrow(0, place, tensor.numel()).copy_(tensor.flatten());
    place += tensor.numel();
  }
  at::Tensor all = at::empty({ranks.size() * elements}, own.options());
  ranks.call("all_gather", bytes_of(all), [&](ProcessGroup& group) { group.all_gather(own, all); });
  PairwiseSum sum;
  for (int rank = 0; rank < ranks.size(); ++rank) sum.add({all.narrow(0, rank * elements, elements)});
  const at::Tensor total = sum.take().front();
  Tensors sums;
  place = 0;
  for (const at::Tensor& tensor : bucket) {
    sums.push_back(total.narrow(0, place, tensor.numel()).view(tensor.sizes()).clone());
    place += tensor.numel();
  }
  return sums;
}

}  // namespace

Tensors sum_over_ranks(Tensors terms, RankGroup& ranks) {
  for (std::size_t first = 0; first < terms.size();) {
    const auto begin = terms.begin() + static_cast<std::ptrdiff_t>(first);
    const std::size_t count = next_bucket(std::span(terms).subspan(first));
    const Tensors sums = bucket_over_ranks(Tensors(begin, begin + static_cast<std::ptrdiff_t>(count)), ranks);
    std::copy(sums.begin(), sums.end(), begin);
    first += count;
  }
  return terms;
}

}  // namespace reprobench
