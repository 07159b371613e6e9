#include "suites/worker/ranks/layout.hpp"

#include <algorithm>

#include "matrix/contract/replicas.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {

std::string Layout::named(std::string_view name, std::int64_t number) const {
  std::string text(name);
  return is_whole() ? text : text + "#" + std::to_string(first() + number);
}

Layout layout_of(const CellRequest& request, const KnobValues& resolved) {
  const std::int64_t batch_size = request.workload.batch_size;
  const std::int64_t replicas = replicas_of(resolved);
  const Layout layout{request.rank, request.world_size, std::stoll(resolved.at("accumulate")),
                      static_cast<int>(std::min(replicas, batch_size + 1))};  // more than samples make no equal parts
  if (batch_size % layout.micro_batches() != 0) {
    throw RunFailure("bad_request", "a batch of " + std::to_string(batch_size) + " makes no " +
                                        std::to_string(layout.micro_batches()) + " equal micro-batches");
  }
  return layout;
}

Sharding sharding_of(const Layout& layout, const KnobValues& resolved) {
  return {std::stoi(resolved.at("zero_stage")), layout.rank, layout.ranks};
}

}  // namespace reprobench
