#include "matrix/exec/turn_order.hpp"

#include <algorithm>

namespace reprobench {

std::optional<TurnOrder::Next> TurnOrder::next() {
  const std::int64_t rounds = blocks_.empty() ? 0 : *std::max_element(blocks_.begin(), blocks_.end());
  while (round_ < rounds) {
    if (place_in_round_ == blocks_.size()) {
      ++round_;
      place_in_round_ = 0;
      continue;
    }
    const std::size_t place = place_in_round_++;
    const std::size_t member = round_ % 2 == 0 ? place : blocks_.size() - 1 - place;
    if (round_ < blocks_[member]) return Next{member, round_};
  }
  return std::nullopt;
}

}  // namespace reprobench
