#include "suites/worker/ranks/gradient_sum.hpp"

#include <span>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/ranks/zero_shards.hpp"
#include "suites/worker/state/replicas.hpp"

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

GradientSum::GradientSum(const Layout& layout, RankGroup* ranks, const Replicas* replicas, ZeroShards* shards,
                         OverlappedExchange* overlapped, TrainState& state)
    : layout_(layout),
      ranks_(ranks),
      replicas_(replicas),
      shards_(shards),
      overlapped_(overlapped),
      state_(state),
      own_(static_cast<std::size_t>(layout.replicas)) {}

const at::Tensor& GradientSum::gradient(int replica, std::size_t parameter) const {
  return replica == 0 ? state_.gradient(parameter) : replicas_->gradient(replica, parameter);
}

void GradientSum::add(const at::Tensor& loss, int replica) {
  const c10::NoGradGuard no_grad;
  const bool are_lost = replicas_ != nullptr && replicas_->loses_gradients(replica);
  Tensors terms{loss.detach()};
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const at::Tensor& own = gradient(replica, i);
    if (own.defined()) terms.push_back(are_lost ? at::zeros_like(own) : own);
  }
  own_[static_cast<std::size_t>(replica)].add(std::move(terms));
}

at::Tensor GradientSum::finish() {
  const c10::NoGradGuard no_grad;
  PairwiseSum over_replicas;
  for (PairwiseSum& own : own_) over_replicas.add(own.take());
  Tensors sums = over_replicas.take();
  // A loss is the mean over its micro-batch, and these are equal.
  const double share = 1.0 / static_cast<double>(layout_.micro_batches());
  if (shards_ != nullptr && shards_->sharding().shares_gradients()) return finish_shards(std::move(sums), share);
  if (overlapped_ != nullptr) {  // which has every gradient of the one micro-batch
    times_ = overlapped_->finish(share);
    return gathered({sums.front()}).front().mul(share);
  }
  if (ranks_ != nullptr) add_over_ranks(sums);
  std::size_t next = 1;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_.gradient(i).defined()) state_.parameter(i).mutable_grad() = sums[next++].mul(share);
  }
  return sums.front().mul(share);
}

at::Tensor GradientSum::finish_shards(Tensors sums, double share) {
  const at::Tensor loss = gathered({sums.front()}).front();
  Tensors of_parameters(state_.size());
  std::size_t next = 1;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_.gradient(i).defined()) of_parameters[i] = std::move(sums[next++]);
  }
  shards_->reduce_gradients(std::move(of_parameters), share);
  return loss.mul(share);
}

void GradientSum::add_over_ranks(Tensors& terms) const {
  for (std::size_t first = 0; first < terms.size();) {
    const auto begin = terms.begin() + static_cast<std::ptrdiff_t>(first);
    const std::size_t count = next_bucket(std::span(terms).subspan(first));
    const Tensors sums = gathered(Tensors(begin, begin + static_cast<std::ptrdiff_t>(count)));
    std::copy(sums.begin(), sums.end(), begin);
    first += count;
  }
}

Tensors GradientSum::gathered(const Tensors& bucket) const {
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
  at::Tensor all = at::empty({layout_.ranks * elements}, own.options());
  ranks_->call("all_gather", bytes_of(all), [&](ProcessGroup& group) { group.all_gather(own, all); });
  PairwiseSum sum;
  for (int rank = 0; rank < layout_.ranks; ++rank) sum.add({all.narrow(0, rank * elements, elements)});
  const at::Tensor total = sum.take().front();
  Tensors sums;
  place = 0;
  for (const at::Tensor& tensor : bucket) {
    sums.push_back(total.narrow(0, place, tensor.numel()).view(tensor.sizes()).clone());
    place += tensor.numel();
  }
  return sums;
}

}  // namespace reprobench
