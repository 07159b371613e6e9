// The order in which residents take turns: one round forward, the next one backward (A0 B0 B1 A1 A2 B2 ...). So a drift
// of the machine affects both sides alike (ABBA). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace reprobench {

class TurnOrder {
 public:
  struct Next {
    std::size_t member = 0;
    std::int64_t block = 0;
  };

  // `blocks` has the number of turns of each member.
  explicit TurnOrder(std::vector<std::int64_t> blocks) : blocks_(std::move(blocks)) {}

  // Nothing if all turns were taken.
  std::optional<Next> next();

  // This member takes no more turns; the others go on without it.
  void drop(std::size_t member) { blocks_[member] = 0; }

 private:
  std::vector<std::int64_t> blocks_;
  std::int64_t round_ = 0;
  std::size_t place_in_round_ = 0;
};

}  // namespace reprobench
