// How the batch of a step is divided: over ranks or over the replicas of one process, and for each of these over
// micro-batches done one after the other. Micro-batches are equal runs of the batch, numbered from 0 in its order: rank
// 0, or replica 0, has the first ones. So the same micro-batches are done whether two ranks do two each or one rank
// does all four.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "matrix/contract/request.hpp"
#include "suites/worker/ranks/partition.hpp"

namespace reprobench {

struct Layout {
  int rank = 0;
  int ranks = 1;
  std::int64_t accumulated = 1;  // micro-batches that each rank, or each of its replicas, does one after the other
  int replicas = 1;              // of one rank

  std::int64_t of_rank() const { return replicas * accumulated; }   // micro-batches of each rank
  std::int64_t micro_batches() const { return ranks * of_rank(); }  // of all ranks
  bool is_whole() const { return micro_batches() == 1; }
  std::int64_t first() const { return rank * of_rank(); }  // the first of this rank's micro-batches
  // The number, among this rank's micro-batches, of the one that a replica does in that round.
  std::int64_t number(int replica, std::int64_t round) const { return replica * accumulated + round; }

  // The name in a trace of something of this rank's micro-batch `number`: "fc1#2" if that is the step's third, "fc1" if
  // there is only one.
  std::string named(std::string_view name, std::int64_t number) const;
};

// Throws RunFailure "bad_request" if the batch makes no such micro-batches.
Layout layout_of(const CellRequest& request, const Settings& settings);

// The sharding over the layout's ranks by the knob `zero_stage`; one rank has nobody to share with.
Sharding sharding_of(const Layout& layout, const Settings& settings);

}  // namespace reprobench
