#include "suites/worker/ranks/exchange.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "suites/worker/ranks/rank_group.hpp"

namespace reprobench {
namespace {

std::int64_t* numbers_in(const at::Tensor& tensor) { return static_cast<std::int64_t*>(tensor.data_ptr()); }

}  // namespace

std::vector<WholeNumbers> said_by_all(const WholeNumbers& own, RankGroup& ranks) {
  const auto count = static_cast<std::int64_t>(own.size());
  at::Tensor sent = at::empty({count}, at::kLong);
  std::copy(own.begin(), own.end(), numbers_in(sent));
  sent = sent.to(ranks.where());
  at::Tensor all = at::empty({ranks.size() * count}, sent.options());
  ranks.call("all_gather", static_cast<std::int64_t>(all.nbytes()),
             [&](ProcessGroup& group) { group.all_gather(sent, all); });
  all = all.cpu();
  std::vector<WholeNumbers> said;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const std::int64_t* first = numbers_in(all) + rank * count;
    said.emplace_back(first, first + count);
  }
  return said;
}

WholeNumbers said_by_first(const WholeNumbers& own, RankGroup& ranks) {
  const std::int64_t count = said_by_all({static_cast<std::int64_t>(own.size())}, ranks).front().front();
  if (count == 0) return {};
  at::Tensor numbers = at::zeros({count}, at::kLong);
  if (ranks.rank() == 0) std::copy(own.begin(), own.end(), numbers_in(numbers));
  numbers = numbers.to(ranks.where());
  ranks.call("broadcast", static_cast<std::int64_t>(numbers.nbytes()),
             [&](ProcessGroup& group) { group.broadcast(numbers, 0); });
  numbers = numbers.cpu();
  return {numbers_in(numbers), numbers_in(numbers) + count};
}

}  // namespace reprobench
