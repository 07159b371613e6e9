// The comparisons that `compare RUN` wrote for the sources of a merged run, by the names that their cells have in it.
#pragma once

#include <string>
#include <vector>

#include "matrix/evidence/run_merge.hpp"
#include "matrix/inquiry/comparison_document.hpp"

namespace reprobench {

struct MergedComparisons {
  std::vector<CellComparison>
      comparisons;                    // in the order of the sources; pairs with a cell that was not merged are left out
  std::vector<std::string> problems;  // of files that cannot be read, a line each
};

MergedComparisons merged_comparisons(const RunMerge& merge, const std::vector<MergeSource>& sources);

}  // namespace reprobench
