#include "suites/worker/ranks/layout.hpp"

#include <algorithm>

#include "suites/worker/run_failure.hpp"

namespace reprobench {

std::string Layout::named(std::string_view name, std::int64_t number) const {
  std::string text(name);
  return is_whole() ? text : text + "#" + std::to_string(first() + number);
}

Layout layout_of(const CellRequest& request, const Settings& settings) {
  const std::int64_t batch_size = request.workload.batch_size;
  const Layout layout{
      request.rank, request.world_size, settings.accumulate,
      static_cast<int>(std::min(settings.replicas, batch_size + 1))};  // more than samples make no equal parts
  if (batch_size % layout.micro_batches() != 0) {
    throw RunFailure("bad_request", "a batch of " + std::to_string(batch_size) + " makes no " +
                                        std::to_string(layout.micro_batches()) + " equal micro-batches");
  }
  return layout;
}

Sharding sharding_of(const Layout& layout, const Settings& settings) {
  return {settings.zero_stage, layout.rank, layout.ranks};
}

}  // namespace reprobench
