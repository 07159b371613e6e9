// Small facts that the ranks of a training tell each other, so that all of them decide alike. Every rank calls the same
// functions in the same order.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

class RankGroup;

using WholeNumbers = std::vector<std::int64_t>;

// How long the exchange of a step's gradients took.
struct ExchangeTimes {
  std::int64_t exchange_ns = 0;  // while exchanges ran, waits for other ranks included
  std::int64_t hidden_ns = 0;    // the part of it before the backward pass had ended
};

// The numbers of every rank, in their order; each rank has as many as the others.
std::vector<WholeNumbers> said_by_all(const WholeNumbers& own, RankGroup& ranks);

// The numbers of rank 0, however many those are.
WholeNumbers said_by_first(const WholeNumbers& own, RankGroup& ranks);

}  // namespace reprobench
