// Collectives by name, and what their bandwidths mean: nccl-tests' definitions (doc/PERFORMANCE.md there), so that
// numbers can be laid side by side. With S the bytes of one call and t its time, the algorithm bandwidth is S / t; the
// bus bandwidth is that times a factor of the number of ranks, and does not fall with it where the links keep up.
#pragma once

#include <span>
#include <string_view>

namespace reprobench {

struct Collective {
  std::string_view name;  // an operation of the probe `collectives`
  // S: of an all_reduce, broadcast, reduce or send_recv what one rank holds; of the others what all ranks hold
  // together.
  bool is_of_all_ranks;
  double (*bus_factor)(int ranks);
  bool adds_up;             // numbers of several ranks become a sum, so that the order of summation shows
  bool is_same_everywhere;  // every rank ends with the same result
};

std::span<const Collective> collectives();
const Collective* find_collective(std::string_view name);

}  // namespace reprobench
