// Runs of one matrix on several hosts, or shards of one, as one run.
//
// A cell that ran somewhere is a cell that ran, whatever other hosts had to skip. A cell that ran on several hosts is
// kept once for each host, under names that end with "@HOST". A cell is compared with the reference cell of its own
// host; where that did not run, with that of the first host that ran it. Every cell that ran has the coordinate `host`.
// Pure: the caller copies the files.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// Thrown for runs that cannot become one: different matrices or plans, the same run twice, a run that never ended.
class MergeRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct MergeSource {
  RunRecord run;
  std::string label;  // of its host; empty: the host's name. A merged run keeps its own labels
};

// An attempt of a source, and its request in the merged run.
struct MergedAttempt {
  std::size_t source = 0;  // index into the sources
  CellRequest request;     // cell_id, repeat, attempt and nonce as in the merged run
  const AttemptRecord* record = nullptr;
};

struct RunMerge {
  RunInfo info;  // the run id follows from the sources: equal sources give an equal run
  Plan plan;
  std::vector<MergedAttempt> attempts;   // point into the sources
  std::vector<CellDiagnosis> diagnoses;  // of cells that are held against the same reference as in their source
};

// The name under which a run's host is shown, unless another is chosen. It has letters, digits, `.`, `_` and `-`.
std::string host_label(const std::string& host_name);
bool is_host_label(const std::string& text);

// Throws MergeRefused.
RunMerge merge_runs(const std::vector<MergeSource>& sources);

}  // namespace reprobench
