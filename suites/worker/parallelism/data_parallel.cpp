#include "suites/worker/parallelism/data_parallel.hpp"

#include <algorithm>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "matrix/contract/device/nccl_facts.hpp"
#include "matrix/contract/result.hpp"

namespace reprobench {

std::vector<WholeNumbers> DataParallel::said_by_all(const WholeNumbers& own) {
  return reprobench::said_by_all(own, ranks_);
}
WholeNumbers DataParallel::said_by_first(const WholeNumbers& own) { return reprobench::said_by_first(own, ranks_); }

bool DataParallel::some_rank_says(bool here) {
  const std::vector<double> votes = ranks_.all_numbers({here ? 1.0 : 0.0});
  return std::ranges::any_of(votes, [](double vote) { return vote != 0; });
}

void DataParallel::note_library(CellResult& result) {
  if (ranks_.library() != "nccl") return;
  ranks_.take_log();
  result.nccl = nccl_facts_in(ranks_.log());
}

at::Tensor DataParallel::finish(std::vector<at::Tensor> sums, double share) {
  return Parallelism::finish(sum_over_ranks(std::move(sums), ranks_), share);
}

// The exchange has every gradient of the one micro-batch already.
at::Tensor OverlappedDataParallel::finish(std::vector<at::Tensor> sums, double share) {
  times_ = exchange_.finish(share);
  return sum_over_ranks({sums.front()}, ranks_).front().mul(share);
}

}  // namespace reprobench
