// Which repeats of a run's cells are still to end, and which are added where noise leaves a ratio open. Pure.
//
// Cells that are compared with each other are looked at together, once the last repeat of them all has ended: what is
// added to one of them is added to its reference, so that every repeat has its partner.
#pragma once

#include <cstddef>
#include <vector>

#include "matrix/plan/plan.hpp"

namespace reprobench {

// By the cells' index: a reference and those that name it, in plan order. Skipped cells are in none.
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

  // A repeat of that cell is over, whatever came of it. Gives the cells that can be looked at now: it alone, or all
  // that it is compared with and that wait for each other. Empty: not yet.
  std::vector<std::size_t> ended(std::size_t cell_index);

  // Up to the next look, of those cells and of their references, each once. What has no further look, or no reference
  // in this run, gets none.
  std::vector<FurtherRepeats> add_for(const std::vector<std::size_t>& open);

 private:
  // Cells that are compared with each other.
  struct Group {
    std::vector<std::size_t> cells;
    int left = 0;                // of all of them
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
