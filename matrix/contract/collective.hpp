// Collectives by name, and the definitions of their bandwidths. These are nccl-tests' (doc/PERFORMANCE.md there), so
// that numbers can be compared. With S the bytes of one call and t its time, the algorithm bandwidth is S / t. The bus
// bandwidth is that times a factor of the number of ranks, and does not fall with it if the links keep up.
#pragma once

#include <span>
#include <string_view>

namespace reprobench {

struct Collective {
  std::string_view name;  // an operation of the probe `collectives`
  // For an all_reduce, broadcast, reduce or send_recv, S is what one rank holds; for the others it is what all ranks
  // hold together.
  bool is_of_all_ranks;
  double (*bus_factor)(int ranks);
  bool adds_up;             // the result is a sum over several ranks, so it depends on the order of summation
  bool is_same_everywhere;  // every rank ends with the same result
};

std::span<const Collective> collectives();
const Collective* find_collective(std::string_view name);

}  // namespace reprobench
