#include "suites/worker/ranks/zero_shards.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "suites/worker/ranks/gradient_sum.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/state/gradient_norm.hpp"

namespace reprobench {
namespace {

// What every rank sends at once to each other one.
constexpr std::int64_t kWindowBytes = std::int64_t{1} << 20;

std::int64_t window_elements(const at::Tensor& like) {
  return kWindowBytes / static_cast<std::int64_t>(like.element_size());
}

at::Tensor part_of(const at::Tensor& flat, std::int64_t begin, std::int64_t size) {
  return flat.narrow(0, begin, size);
}

std::int64_t blocks_of(const Shard& shard) { return (shard.size() + kBlockElements - 1) / kBlockElements; }

}  // namespace

void ZeroShards::reduce_gradients(std::vector<at::Tensor> own, double share) {
  const c10::NoGradGuard no_grad;
  const Sharding& shared = sharding();
  std::vector<bool> is_given(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) is_given[i] = own[i].defined();
  const Partition partition = state_.partition().only(is_given);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!is_given[i]) continue;
    state_.drop_gradient(i);
    own[i] = own[i].flatten();
    if (partition.of(shared.rank, i).size() > 0) {
      state_.shard(i).mutable_grad() = at::empty({partition.of(shared.rank, i).size()}, own[i].options());
    }
  }
  const auto options = state_.parameter(0).options().requires_grad(false);
  const std::int64_t longest = partition.largest();
  const std::int64_t window = window_elements(state_.parameter(0));
  for (std::int64_t from = 0; from < longest; from += window) {
    const std::int64_t count = std::min(window, longest - from);
    at::Tensor sent = at::zeros({shared.ranks * count}, options);
    for (int rank = 0; rank < shared.ranks; ++rank) {
      for (const ShardPart& part : parts_of(partition.of(rank), from, count)) {
        part_of(sent, rank * count + part.in_window, part.size)
            .copy_(part_of(own[part.parameter], part.in_parameter, part.size));
      }
    }
    at::Tensor received = at::empty({shared.ranks * count}, options);
    ranks_.call("all_to_all", static_cast<std::int64_t>(received.nbytes()),
                [&](ProcessGroup& group) { group.all_to_all(sent, received); });
    PairwiseSum sum;
    for (int rank = 0; rank < shared.ranks; ++rank) sum.add({part_of(received, rank * count, count)});
    const at::Tensor mean = sum.take().front().mul(share);
    for (const ShardPart& part : parts_of(partition.of(shared.rank), from, count)) {
      part_of(state_.shard(part.parameter).mutable_grad(), part.in_shard, part.size)
          .copy_(part_of(mean, part.in_window, part.size));
    }
  }
}

at::Tensor ZeroShards::gathered(const at::Tensor& own) {
  at::Tensor all = at::empty({sharding().ranks * own.numel()}, own.options());
  ranks_.call("all_gather", static_cast<std::int64_t>(all.nbytes()),
              [&](ProcessGroup& group) { group.all_gather(own, all); });
  return all;
}

void ZeroShards::gather_parameter(std::size_t index) {
  std::vector<bool> one(state_.size(), false);
  one[index] = true;
  gather(state_.partition().only(one));
}

void ZeroShards::gather(const Partition& partition) {
  const c10::NoGradGuard no_grad;
  const Sharding& shared = sharding();
  const auto options = state_.parameter(0).options().requires_grad(false);
  const std::int64_t longest = partition.largest();
  const std::int64_t window = window_elements(state_.parameter(0));
  for (std::int64_t from = 0; from < longest; from += window) {
    const std::int64_t count = std::min(window, longest - from);
    at::Tensor own = at::zeros({count}, options);
    for (const ShardPart& part : parts_of(partition.of(shared.rank), from, count)) {
      part_of(own, part.in_window, part.size).copy_(part_of(state_.shard(part.parameter), part.in_shard, part.size));
    }
    const at::Tensor all = gathered(own);
    for (int rank = 0; rank < shared.ranks; ++rank) {
      if (rank == shared.rank && !shared.shares_parameters()) continue;  // its shards lie in the parameters
      for (const ShardPart& part : parts_of(partition.of(rank), from, count)) {
        part_of(state_.flat_parameter(part.parameter), part.in_parameter, part.size)
            .copy_(part_of(all, rank * count + part.in_window, part.size));
      }
    }
  }
}

at::Tensor ZeroShards::whole(std::size_t parameter, const at::Tensor& piece) {
  const c10::NoGradGuard no_grad;
  const Partition& partition = state_.partition();
  const int ranks = sharding().ranks;
  std::int64_t longest = 0;
  for (int rank = 0; rank < ranks; ++rank) longest = std::max(longest, partition.of(rank, parameter).size());
  const at::Tensor& like = state_.parameter(parameter);
  const auto options = like.options().requires_grad(false);
  at::Tensor own = at::zeros({longest}, options);
  if (piece.defined()) part_of(own, 0, piece.numel()).copy_(piece);
  const at::Tensor all = gathered(own);
  const at::Tensor flat = at::empty({like.numel()}, options);
  for (int rank = 0; rank < ranks; ++rank) {
    const Shard shard = partition.of(rank, parameter);
    part_of(flat, shard.begin, shard.size()).copy_(part_of(all, rank * longest, shard.size()));
  }
  return flat.view(like.sizes());
}

// Every rank's sums, this one's first found. A shard without a gradient adds zeros, as it does nothing elsewhere.
double ZeroShards::gradient_norm() {
  std::vector<double> own;
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < sharding().ranks; ++rank) {
    std::int64_t blocks = 0;
    for (const Shard& shard : state_.partition().of(rank)) blocks += blocks_of(shard);
    counts.push_back(blocks);
  }
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const Shard shard = state_.partition().of(sharding().rank, i);
    if (shard.size() == 0) continue;
    const at::Tensor& gradient = state_.shard_gradient(i);
    const std::vector<double> sums = gradient.defined()
                                         ? block_squares(gradient)
                                         : std::vector<double>(static_cast<std::size_t>(blocks_of(shard)), 0);
    own.insert(own.end(), sums.begin(), sums.end());
  }
  const std::vector<double> all = all_numbers(own, counts);
  return std::sqrt(std::accumulate(all.begin(), all.end(), 0.0));
}

std::vector<double> ZeroShards::all_numbers(const std::vector<double>& own, const std::vector<std::int64_t>& counts) {
  const auto longest = static_cast<std::size_t>(*std::max_element(counts.begin(), counts.end()));
  std::vector<double> sent = own;
  sent.resize(longest);
  const std::vector<double> all = ranks_.all_numbers(sent);
  std::vector<double> numbers;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * longest);
    numbers.insert(numbers.end(), first, first + counts[rank]);
  }
  return numbers;
}

}  // namespace reprobench
