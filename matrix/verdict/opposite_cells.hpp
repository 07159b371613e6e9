// Which cell a check compares another one with, and that cell's evidence. Beside the reference this is, for example,
// the same training on one rank, on the CPU, or on another host.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "matrix/verdict/cell_families.hpp"
#include "matrix/verdict/recorded_cells.hpp"

namespace reprobench {

// Valid as long as `cells`. Evidence holds until another cell's opposite is asked for, since one of each kind is kept.
class OppositeCells {
 public:
  explicit OppositeCells(const RecordedCells& cells) : cells_(cells), families_(cells.run().plan) {}

  ReferenceEvidence reference(const Cell& cell, const std::string& workload_digest);

  // Nothing where the check does not apply: a training on the CPU is not held against one on the CPU.
  std::optional<ReferenceEvidence> of(Against against, const Cell& cell, const std::string& workload_digest);

 private:
  ReferenceEvidence on_one_rank(const Cell& cell, const std::string& workload_digest);
  ReferenceEvidence on_cpu(const Cell& cell, const std::string& workload_digest);
  ReferenceEvidence of_one_share(const Cell& cell);
  ReferenceEvidence ends_of_seeds(const std::vector<const PlannedCell*>& cells);
  const CellEvidence& constructed(const Cell& cell);
  void find_anchors();
  ReferenceEvidence evidence_of(const PlannedCell& planned, const std::optional<std::string>& workload_digest,
                                CellEvidence& kept);

  const RecordedCells& cells_;
  const CellFamilies families_;
  struct Anchor {
    const PlannedCell* planned;
    int rank;
  };
  std::unordered_map<std::string, Anchor> anchors_;  // by workload_key(), like the next
  std::unordered_map<std::string, CellEvidence> constructed_;
  CellEvidence reference_;  // as last read: neighbouring cells of a plan often share theirs
  CellEvidence other_host_;
  CellEvidence seeds_;
  CellEvidence one_rank_;
  CellEvidence one_share_;
  CellEvidence on_cpu_;
};

}  // namespace reprobench
