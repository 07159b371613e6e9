// The repeats of a run's cells that have not ended, and those that are added if noise leaves a ratio undecided. Pure.
//
// Cells that are compared with each other are looked at together, once the last repeat of all of them has ended.
// Repeats that are added to one of them are added to its reference too, so that every repeat has its partner.
#pragma once

#include <cstddef>
#include <vector>

#include "matrix/plan/plan.hpp"

namespace reprobench {

// Groups of cells by index: a reference and those that name it, in plan order. Skipped cells are in no group.
std::vector<std::vector<std::size_t>> compared_cells(const Plan& plan);

// Repeats `from` to `until` - 1 of a cell.
struct FurtherRepeats {
  std::size_t cell_index = 0;
  int from = 0;
  int until = 0;
};

class RepeatsLeft {
 public:
  explicit RepeatsLeft(const Plan& plan);

  // Called when a repeat of that cell is over, however it ended. Returns the cells that can be looked at now: only this
  // one, or all cells of its group if they wait for each other. Empty if it is too early.
  std::vector<std::size_t> ended(std::size_t cell_index);

  // Adds repeats up to the next look, for those cells and their references, once for each. Cells without a further
  // look, or without a reference in this run, get none.
  std::vector<FurtherRepeats> add_for(const std::vector<std::size_t>& open);

 private:
  // Cells that are compared with each other.
  struct Group {
    std::vector<std::size_t> cells;
    int left = 0;                // sum over all of them
    bool waits_for_all = false;  // one of them may be repeated further
  };

  bool may_grow(std::size_t cell_index) const;
  void add(std::size_t cell_index, std::vector<FurtherRepeats>& added);

  const Plan& plan_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;  // by cell: index into groups_
  std::vector<int> planned_;           // by cell: repeats so far
  std::vector<int> left_;              // by cell
};

}  // namespace reprobench
