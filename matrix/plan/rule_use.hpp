// Applies a matrix's rules to its cells and remembers which rules ever applied: one that selects nothing is an error,
// because its author believes that it does something.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <vector>

#include "matrix/plan/cell.hpp"
#include "matrix/plan/selection_index.hpp"
#include "matrix/spec/diagnostics.hpp"

namespace reprobench {

// A cell's coordinates with every knob, whether an axis or not. These are what `where` may name. Valid as long as the
// cell.
CoordinateLookup selection_coordinates(const Cell& cell);

class RuleUse {
 public:
  explicit RuleUse(const MatrixSpec& matrix);

  bool is_excluded(const CoordinateLookup& cell);

  // Applies `required`, injections and thresholds. `is_reference` says that others are compared with this cell, so
  // bounds against the reference do not hold for it. A training whose reference is another stack is asked whether its
  // numbers differ by more than rounding, unless a rule asks that or an armed one lets no bit differ. A rule can still
  // disarm that. One that is stopped and resumed is asked for the same numbers as one that was not, likewise. A cell
  // with an armed bound on a time gets the machine to itself, whatever its suite says.
  void apply(Cell& cell, const CoordinateLookup& coordinates, const SuiteSpec& suite, bool is_reference);

  // Reports rules that selected no cell (RB024 for `exclude`, RB040 for the rest) and bounds that took away a suite's
  // bound (RB039).
  void report_faults(Diagnostics& diagnostics) const;

 private:
  // The rules that the thresholds of a cell follow from.
  struct Selected {
    std::vector<const ThresholdRule*> rules;
    std::size_t of_suite = 0;  // so many of them, the first ones; the others are the matrix's
    bool is_reference = false;
    const Mark* other_input = nullptr;  // where the matrix names another input than the suite was written for
    auto operator<=>(const Selected&) const = default;
  };

  std::vector<CellThreshold> thresholds_of(const Selected& selected);
  const SharedList<CellThreshold>& thresholds_for(const Selected& selected);
  // Behind the rules of the suite, so that those of the matrix still hold over it.
  void ask_too(const ThresholdRule& rule, Selected& selected, Cell& cell);
  const ThresholdRule& going_on_of(const SuiteSpec& suite);
  // A suite holds ranks against one rank, each on its own stack. Both may train other numbers than the reference's
  // stack does. False where the reference also has another precision, say, which changes the numbers by itself.
  bool is_held_against_another_stack(const Cell& cell, const CoordinateLookup& coordinates) const;

  const MatrixSpec& matrix_;
  const ThresholdRule by_reference_;
  std::map<std::string, ThresholdRule> going_on_;  // by suite
  SelectionIndex exclusions_;
  std::vector<bool> excluded_;
  std::vector<bool> required_;
  std::vector<bool> injected_;
  std::set<const ThresholdRule*> effective_;
  std::map<const ThresholdRule*, CellThreshold> let_go_;  // by a rule of the matrix: the suite's bound it takes away
  std::map<Selected, SharedList<CellThreshold>> thresholds_of_rules_;  // cells alike in them share one list
};

}  // namespace reprobench
