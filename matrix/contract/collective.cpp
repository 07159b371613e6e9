#include "matrix/contract/collective.hpp"

#include <algorithm>

namespace reprobench {
namespace {

double one(int) { return 1; }
double of_others(int ranks) { return static_cast<double>(ranks - 1) / ranks; }
double twice_of_others(int ranks) { return 2 * of_others(ranks); }

constexpr Collective kCollectives[] = {
    {"all_reduce", false, &twice_of_others, true, true},
    {"all_gather", true, &of_others, false, true},
    {"reduce_scatter", true, &of_others, true, false},
    {"broadcast", false, &one, false, true},
    {"reduce", false, &one, true, false},
    {"all_to_all", true, &of_others, false, false},
    {"send_recv", false, &one, false, false},
};

}  // namespace

std::span<const Collective> collectives() { return kCollectives; }

const Collective* find_collective(std::string_view name) {
  const auto found = std::ranges::find(kCollectives, name, &Collective::name);
  return found == std::end(kCollectives) ? nullptr : &*found;
}

}  // namespace reprobench
