#include "matrix/evidence/repeats_due.hpp"

#include <algorithm>

#include "matrix/evidence/planned_looks.hpp"

namespace reprobench {

int repeats_due(const Cell& cell, const CellRecord& record) {
  const int most = planned_looks(cell).back();
  int begun = 0;
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.repeat < most) begun = std::max(begun, attempt.repeat + 1);
  }
  return look_after(cell, begun);
}

}  // namespace reprobench
