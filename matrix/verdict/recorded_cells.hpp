// The cells of a run as judging looks them up: what was planned, what was recorded, and the evidence of one that
// completed. Traces are read when they are asked for, so a run of thousands of cells fits in memory.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "matrix/verdict/cell_end.hpp"

namespace reprobench {

// Valid as long as the run.
class RecordedCells {
 public:
  using Repeats = std::vector<const AttemptRecord*>;  // last_attempts()

  explicit RecordedCells(const RunRecord& run);

  const RunRecord& run() const { return run_; }
  const PlannedCell* planned(const std::string& cell_id) const;  // null: there is none
  const CellRecord* record(const std::string& cell_id) const;    // null: it did not run
  bool is_reference(const Cell& cell) const { return references_.contains(cell.request.cell_id); }

  // A cell's reference, if it ran.
  struct Recorded {
    const PlannedCell& planned;
    const CellRecord& record;
  };
  std::optional<Recorded> reference_of(const Cell& cell) const;

  // The same cell on the first other host of a merged run; null: no other host ran it.
  const PlannedCell* on_other_host(const Cell& cell) const;

  // As ended_early() of cell_end.hpp, with the faults of the whole run.
  std::optional<Ended> ended_early(const Cell& cell, const Repeats& repeats) const;

  // The links between the GPUs that an attempt used, on the host that ran it.
  std::vector<std::string> links_of(const Cell& cell, const AttemptRecord& attempt) const;

  // Throws StoreError if a trace that was whole when its attempt ended can no longer be read.
  CellEvidence read_evidence(const Cell& cell, const Repeats& repeats) const;

  // The same of all its last attempts. Reading is most of the time that judging takes. So evidence that somebody holds
  // is not read again, nor that of the cells that were asked for last: cells that are compared are neighbours in a
  // plan.
  std::shared_ptr<const CellEvidence> evidence_of(const Cell& cell) const;

 private:
  static constexpr std::size_t kKept = 3;  // a cell, its reference, and one that stands for its workload

  const HostFacts& host_of(const Cell& cell) const;
  std::string stack_and_driver(const Cell& cell) const;

  const RunRecord& run_;
  std::unordered_map<std::string, const CellRecord*> records_;
  std::unordered_map<std::string, const PlannedCell*> planned_;
  std::unordered_map<std::string, std::vector<const PlannedCell*>> on_hosts_;  // by id without host
  std::set<std::string> references_;
  RepeatedFaults faults_;
  mutable std::unordered_map<const Cell*, std::weak_ptr<const CellEvidence>> read_;
  mutable std::deque<std::shared_ptr<const CellEvidence>> kept_;  // the last one asked for first
};

}  // namespace reprobench
