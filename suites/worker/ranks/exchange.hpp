// Small facts that the ranks of a training tell each other, so that all of them decide alike. Every rank calls the same
// functions in the same order; without a group there is one rank, which knows what it says.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

class RankGroup;

using WholeNumbers = std::vector<std::int64_t>;

// What every rank says, in their order; each says as many numbers as the others. `ranks` may be null.
std::vector<WholeNumbers> said_by_all(const WholeNumbers& own, RankGroup* ranks);

// What rank 0 says, however many numbers those are. `ranks` may be null.
WholeNumbers said_by_first(const WholeNumbers& own, RankGroup* ranks);

}  // namespace reprobench
