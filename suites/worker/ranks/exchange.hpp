// Small facts that the ranks of a training tell each other, so that all of them decide alike. Every rank calls the same
// functions in the same order.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

class RankGroup;

using WholeNumbers = std::vector<std::int64_t>;

// How long a step's gradients were under way.
struct ExchangeTimes {
  std::int64_t exchange_ns = 0;  // in which exchanges ran, waits for other ranks included
  std::int64_t hidden_ns = 0;    // of it before the backward pass had ended
};

// What every rank says, in their order; each says as many numbers as the others.
std::vector<WholeNumbers> said_by_all(const WholeNumbers& own, RankGroup& ranks);

// What rank 0 says, however many numbers those are.
WholeNumbers said_by_first(const WholeNumbers& own, RankGroup& ranks);

}  // namespace reprobench
