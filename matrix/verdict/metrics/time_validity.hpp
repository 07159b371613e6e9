// Whether times can be judged at all: what happened to the GPU meanwhile, and whether those left the cores alone that
// waited for their turn. What invalidates times never fails a cell and never touches its numerics (reliability rule
// R11).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "matrix/contract/reason.hpp"
#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

struct TimeDoubt {
  Reason reason;
  std::string sentence;
};

// `reference`: the cell it is compared with, or null. Between the two, being held at the power limit in more than a
// quarter of the readings more (or less) is `throttled`; a median SM clock more than 5 % apart is `clock`, unless both
// were at the power limit, where the clock is what the load of the stack makes it.
std::optional<TimeDoubt> doubt_about_times(const CellEvidence& cell, const CellEvidence* reference);

// "40 of 18900 steps left out (30 throttled, 10 contended)", over the repeats of a cell; empty: none was disturbed.
// `fate` says what became of these steps.
std::string disturbed_steps(const CellEvidence& cell, std::string_view fate);

// The first step that was disturbed in a repeat; nothing if none was.
std::optional<Reason> first_disturbance(const CellEvidence& cell);

}  // namespace reprobench
