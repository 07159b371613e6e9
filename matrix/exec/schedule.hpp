// In which order the fresh processes of a plan's cells run.
#pragma once

#include <cstddef>
#include <vector>

#include "matrix/plan/plan.hpp"

namespace reprobench {

struct ScheduledRepeat {
  std::size_t cell_index = 0;  // into Plan::cells
  int repeat = 0;
};

// A reference and the cells that name it are one group. Groups come in plan order; inside one, repeats go round-robin
// over its cells (A0 B0 C0 A1 B1 C1 ...), so that what is compared was measured seconds apart. Skipped cells are left
// out.
std::vector<ScheduledRepeat> schedule(const Plan& plan);

}  // namespace reprobench
