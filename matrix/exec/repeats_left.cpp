#include "matrix/exec/repeats_left.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "matrix/evidence/planned_looks.hpp"

namespace reprobench {

std::vector<std::vector<std::size_t>> compared_cells(const Plan& plan) {
  std::vector<std::vector<std::size_t>> compared;
  std::map<std::string, std::size_t> found_at;  // by the reference's cell_id
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const PlannedCell& planned = plan.cells[i];
    if (planned.skip) continue;
    const std::string& key = planned.cell.reference_cell_id.value_or(planned.cell.request.cell_id);
    const auto [found, is_new] = found_at.emplace(key, compared.size());
    if (is_new) compared.emplace_back();
    compared[found->second].push_back(i);
  }
  return compared;
}

RepeatsLeft::RepeatsLeft(const Plan& plan) : plan_(plan), group_of_(plan.cells.size()) {
  for (const PlannedCell& planned : plan.cells) planned_.push_back(planned.skip ? 0 : planned.cell.repeat);
  left_ = planned_;
  for (std::vector<std::size_t>& cells : compared_cells(plan)) {
    Group group;
    for (const std::size_t index : cells) {
      group_of_[index] = groups_.size();
      group.left += left_[index];
      group.waits_for_all = group.waits_for_all || planned_looks(plan.cells[index].cell).size() > 1;
    }
    group.cells = std::move(cells);
    groups_.push_back(std::move(group));
  }
}

bool RepeatsLeft::may_grow(std::size_t cell_index) const {
  return planned_looks(plan_.cells[cell_index].cell).back() > planned_[cell_index];
}

std::vector<std::size_t> RepeatsLeft::ended(std::size_t cell_index) {
  Group& group = groups_[group_of_[cell_index]];
  const bool cell_has_ended = --left_[cell_index] == 0;
  const bool group_has_ended = --group.left == 0;
  if (group.waits_for_all) return group_has_ended ? group.cells : std::vector<std::size_t>{};
  return cell_has_ended ? std::vector{cell_index} : std::vector<std::size_t>{};
}

void RepeatsLeft::add(std::size_t cell_index, std::vector<FurtherRepeats>& added) {
  if (left_[cell_index] > 0) return;  // as the reference of another
  const int from = planned_[cell_index];
  const int until = look_after(plan_.cells[cell_index].cell, from + 1);
  planned_[cell_index] = until;
  left_[cell_index] = until - from;
  groups_[group_of_[cell_index]].left += until - from;
  added.push_back({cell_index, from, until});
}

std::vector<FurtherRepeats> RepeatsLeft::add_for(const std::vector<std::size_t>& open) {
  std::vector<FurtherRepeats> added;
  for (const std::size_t index : open) {
    const std::vector<std::size_t>& compared = groups_[group_of_[index]].cells;
    const auto reference = std::ranges::find_if(compared, [&](std::size_t other) {
      return plan_.cells[other].cell.request.cell_id == plan_.cells[index].cell.reference_cell_id;
    });
    if (reference == compared.end() || !may_grow(index)) continue;
    const bool has_partners = planned_[*reference] == planned_[index] || left_[*reference] > 0;
    if (!has_partners || (left_[*reference] == 0 && !may_grow(*reference))) continue;
    add(*reference, added);
    add(index, added);
  }
  std::ranges::sort(added, {}, &FurtherRepeats::cell_index);  // they take turns as they did before
  return added;
}

}  // namespace reprobench
