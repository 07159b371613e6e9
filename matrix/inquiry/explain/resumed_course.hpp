// Later steps are judged by fresh processes, so a fault that needs an old one shows in none of them: an update that
// goes wrong from the 41st of a process on, or any but the first. Here each side trains again in one process up to the
// last of these steps, and in a second one from the state half way. Both have to have the run's bits.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

class ResumedCourse {
 public:
  // `steps`: in their order, none of them the first of the training.
  ResumedCourse(const ComparedSide& measured, const ComparedSide& expected, const std::vector<std::int64_t>& steps,
                Replays& replays);

  // The expected side's state before that one of `steps`.
  std::filesystem::path state_before(std::int64_t step) const;

  // For each side that does not repeat itself the first step of other bits, and what makes them where calls show it: a
  // call with other constants is another computation, all else undecided. Throws ReplayFailed.
  std::vector<LaterStep> differences();

 private:
  std::vector<ReplayOutcome> run_both(const std::string& purpose, const Replay& measured, const Replay& expected);
  Replay second_half(std::size_t side) const;
  LaterStep by_age(std::size_t side, std::int64_t step);

  std::array<const ComparedSide*, 2> sides_;  // the measured one first
  std::int64_t last_;
  std::int64_t half_way_;
  Replays& replays_;
  std::vector<ReplayOutcome> whole_;
};

}  // namespace reprobench
