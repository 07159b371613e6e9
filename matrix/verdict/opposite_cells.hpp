// Which cell a check compares another one with, and that cell's evidence. Beside the reference this is, for example,
// the same training on one rank, on the CPU, or on another host.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "matrix/verdict/cell_families.hpp"
#include "matrix/verdict/recorded_cells.hpp"

namespace reprobench {

// Valid as long as `cells`. Evidence holds until another opposite of its kind is asked for.
class OppositeCells {
 public:
  explicit OppositeCells(const RecordedCells& cells) : cells_(cells), families_(cells.run().plan) {}

  // Nothing where the check does not apply: a training on the CPU is not held against one on the CPU.
  std::optional<ReferenceEvidence> of(Against against, const Cell& cell, const std::string& workload_digest);

 private:
  using Kept = std::shared_ptr<const CellEvidence>;

  ReferenceEvidence reference(const Cell& cell, const std::string& workload_digest);
  ReferenceEvidence on_one_rank(const Cell& cell, const std::string& workload_digest);
  ReferenceEvidence on_cpu(const Cell& cell, const std::string& workload_digest);
  ReferenceEvidence of_one_share(const Cell& cell);
  ReferenceEvidence ends_of_seeds(const std::vector<const PlannedCell*>& cells);
  const CellEvidence& constructed(const Cell& cell);
  void find_anchors();
  ReferenceEvidence evidence_of(const PlannedCell& planned, const std::optional<std::string>& workload_digest,
                                Kept& kept);

  const RecordedCells& cells_;
  const CellFamilies families_;
  struct Anchor {
    const PlannedCell* planned;
    int rank;
  };
  std::unordered_map<std::string, Anchor> anchors_;  // by workload_key(), like the next
  std::unordered_map<std::string, CellEvidence> constructed_;
  CellEvidence seeds_;
  Kept reference_;
  Kept other_host_;
  Kept one_rank_;
  Kept one_share_;
  Kept on_cpu_;
};

}  // namespace reprobench
