// Questions that a required cell cannot answer, whatever its checks say.
//
// A `where` that no longer selects the candidate after a version bump, or that selects it only to disarm it, leaves a
// dimension in which nothing can fail. A candidate that is named as its own reference loses every bound against it.
#pragma once

#include <vector>

#include "matrix/plan/cell.hpp"

namespace reprobench {

// The rules of a required cell and the cell that they are applied to. Valid as long as all four members.
struct RulesOfCell {
  const MatrixSpec& matrix;
  const SuiteSpec& suite;
  const Cell& cell;  // its thresholds are known
  const CoordinateLookup& coordinates;
  bool is_reference = false;
};

// Dimensions in which no bound is armed in the end, although a rule arms one for the cell, or for the same cell at
// another value of the compared axis. A bound that only holds others against a reference is no question to the
// reference itself. For numerics there is a second question: kBeyondRounding, disarmed by a rule with a `where`.
std::vector<Gap> unarmed_dimensions(const RulesOfCell& rules);

// Whether a bound on kBeyondRounding, armed or not, is among the cell's thresholds, or an armed one that lets no bit
// differ from the reference. `reference_mismatches: {max: 1000}` is none: 20 steps cannot differ 1,000 times.
bool asks_of_differences(const Cell& cell);

// Dimensions with an armed bound against the reference, which falls away because the cell is the reference. A
// training's numbers are one of them where the matrix compares stacks, as RuleUse asks for the differences.
std::vector<Gap> dimensions_of_own_reference(const RulesOfCell& rules);

}  // namespace reprobench
