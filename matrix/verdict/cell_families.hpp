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

  // The cells that differ from this one in the seed alone, in plan order, itself among them. Without those that a
  // selection left out; with those that were skipped for any other reason.
  const std::vector<const PlannedCell*>& of_seeds(const Cell& cell) const;

  // Whether it is to have the bits of a cell on one rank: several ranks, or one with several replicas of the model, or
  // whose state does not lie in one place.
  static bool is_another_layout(const Cell& cell);

  static bool is_cpu(const Cell& cell);

  // The first cell that does on one rank, without offload, what the ranks of this one share; null: there is none.
  const PlannedCell* on_one_rank(const Cell& cell) const;

  // The first cell that trains the same on the CPU, of the same stack and with the same knobs; null: there is none.
  const PlannedCell* on_cpu(const Cell& cell) const;

  // The first cell that does on one rank what each rank of this one does, in as many micro-batches; null: there is
  // none.
  const PlannedCell* of_one_share(const Cell& cell) const;

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
