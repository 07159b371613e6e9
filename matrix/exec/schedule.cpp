#include "matrix/exec/schedule.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace reprobench {

std::vector<ScheduledRepeat> schedule(const Plan& plan) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> group_of;  // by the reference's cell_id
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const PlannedCell& planned = plan.cells[i];
    if (planned.skip) continue;
    const std::string& key = planned.cell.reference_cell_id.value_or(planned.cell.request.cell_id);
    const auto [found, is_new] = group_of.emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(i);
  }

  std::vector<ScheduledRepeat> order;
  for (const std::vector<std::size_t>& group : groups) {
    int most_repeats = 0;
    for (const std::size_t index : group) most_repeats = std::max(most_repeats, plan.cells[index].cell.repeat);
    for (int repeat = 0; repeat < most_repeats; ++repeat) {
      for (const std::size_t index : group) {
        if (repeat < plan.cells[index].cell.repeat) order.push_back({index, repeat});
      }
    }
  }
  return order;
}

}  // namespace reprobench
