// Judges cells while the run goes on, so that a failed check shows when it is known and counts for --fail-fast. The
// verdict of the run is judged anew from all of it at the end.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

class EarlyJudge {
 public:
  // `plan` must outlive this; `run_folder` is where traces lie.
  EarlyJudge(const Plan& plan, std::string run_folder);

  // Called for a cell whose repeats are all done. Gives the cells that are now known to fail: this one, and cells that
  // ended before and have it as their reference.
  std::vector<CellVerdict> cell_ended(const CellRecord& record);

  // Called for cells that are compared with each other and have all ended. Gives those that only noise leaves
  // undecided: an armed check has a ratio whose interval reaches over its bound, or too few pairs for an interval.
  std::vector<CellVerdict> open_for_noise(const std::vector<const CellRecord*>& compared);

 private:
  CellVerdict verdict_of(const PlannedCell& planned) const;
  void judge(const PlannedCell& planned, std::vector<CellVerdict>& failed);

  std::string run_folder_;
  std::unordered_map<std::string, const PlannedCell*> planned_;
  std::multimap<std::string, const PlannedCell*> compared_with_;  // by the reference's id
  std::unordered_map<std::string, CellRecord> ended_;
  std::unordered_map<std::string, bool> failed_;
};

}  // namespace reprobench
