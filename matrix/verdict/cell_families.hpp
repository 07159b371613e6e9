// Cells of a plan that belong together without one being the other's reference: a training from three seeds, the same
// work shared by two ranks and done by one.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// Valid as long as the plan.
class CellFamilies {
 public:
  explicit CellFamilies(const Plan& plan);

  // The cells that differ from this one in the seed alone, in plan order and including itself. Cells that a selection
  // left out are not among them; cells that were skipped for other reasons are.
  const std::vector<const PlannedCell*>& of_seeds(const Cell& cell) const;

  // Whether the cell must have the bits of a cell on one rank. That holds for several ranks, for one rank with several
  // replicas of the model, and for state that does not lie in one place.
  static bool is_another_layout(const Cell& cell);

  static bool is_cpu(const Cell& cell);

  // The first cell that does on one rank, without offload, the work that the ranks of this cell share; null if there is
  // none.
  const PlannedCell* on_one_rank(const Cell& cell) const;

  // The first cell that trains the same on the CPU, with the same stack and knobs; null if there is none.
  const PlannedCell* on_cpu(const Cell& cell) const;

  // The first cell that does on one rank the work of each rank of this cell, in as many micro-batches; null if there is
  // none.
  const PlannedCell* of_one_share(const Cell& cell) const;

  // Whether a threshold holds the cell against one in another layout: compared_with() is empty otherwise.
  static bool is_held_against_layouts(const Cell& cell);

  // Those in other layouts with which a threshold of the cell compares it. The same training on the CPU is none of
  // them: who selects cells of a GPU wants nothing to run where there is no GPU.
  std::vector<const PlannedCell*> compared_with(const Cell& cell) const;

 private:
  using Key = std::pair<Coordinates, KnobValues>;  // of what the cells of a family have in common

  static Key key_of(const Cell& cell);
  static Key apart_from_seed(const Cell& cell);
  static Key apart_from_layout(const Cell& cell);
  static Key apart_from_device(const Cell& cell);
  static Key of_share(const Cell& cell);

  std::map<Key, std::vector<const PlannedCell*>> seeds_;
  std::map<Key, const PlannedCell*> on_one_rank_;
  std::map<Key, const PlannedCell*> on_cpu_;
  std::map<Key, const PlannedCell*> of_one_share_;
};

}  // namespace reprobench
