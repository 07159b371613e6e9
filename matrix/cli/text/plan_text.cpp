#include "matrix/cli/text/plan_text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "matrix/contract/device/device_class.hpp"
#include "matrix/plan/coverage.hpp"

namespace reprobench {

std::string plan_summary(const Plan& plan) {
  const auto planned = static_cast<std::ptrdiff_t>(plan.cells.size());
  const auto skipped = std::count_if(plan.cells.begin(), plan.cells.end(),
                                     [](const PlannedCell& cell) { return cell.skip.has_value(); });
  const std::ptrdiff_t selected = selected_cells(plan);
  const std::string cells = selected == planned ? fmt::format("{} cells", planned)
                                                : fmt::format("{} of {} cells selected", selected, planned);
  return fmt::format("plan {}: {}, {} runnable, {} skipped", plan.matrix, cells, planned - skipped,
                     skipped - (planned - selected));
}

std::ptrdiff_t selected_cells(const Plan& plan) {
  return std::count_if(plan.cells.begin(), plan.cells.end(),
                       [](const PlannedCell& planned) { return !planned.skip || planned.skip->rule != kDeselected; });
}

std::string skipped_by_reason(const Plan& plan) {
  std::vector<std::pair<const Skip*, int>> reasons;  // in the order of first appearance
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.skip) continue;
    const auto found = std::find_if(reasons.begin(), reasons.end(), [&](const auto& row) {
      return row.first->rule == planned.skip->rule && row.first->reason == planned.skip->reason;
    });
    if (found == reasons.end()) {
      reasons.emplace_back(&*planned.skip, 1);
    } else {
      ++found->second;
    }
  }
  std::string text;
  for (const auto& [skip, count] : reasons) {
    text += fmt::format("skipped  {}: {} ({} cell{})\n", skip->rule, skip->reason, count, count == 1 ? "" : "s");
  }
  return text;
}

std::string coverage_text(const Plan& plan, const std::map<std::string, StackSpec>& stacks, const CompatFacts& facts) {
  std::map<std::string, std::set<std::string>> devices;  // by stack
  for (const PlannedCell& planned : plan.cells) {
    const CellRequest& request = planned.cell.request;
    const bool is_left_out = planned.skip && planned.skip->rule == kDeselected;
    if (DeviceClass::parse(request.device) != kCpu && !is_left_out) devices[request.stack].insert(request.device);
  }
  std::string text;
  for (const auto& [stack, wanted] : devices) {
    text += fmt::format("coverage {}:", stack);
    for (const DeviceCoverage& coverage : coverage_of_stack(stacks.at(stack), facts)) {
      if (wanted.count(coverage.device) > 0) text += fmt::format(" {} {};", coverage.device, to_string(coverage));
    }
    text.back() = '\n';
  }
  return text;
}

namespace {

// "3 repeats", "7 to 28 repeats"
std::string repeats_text(const Cell& cell) {
  if (cell.max_repeat > cell.repeat) return fmt::format("{} to {} repeats", cell.repeat, cell.max_repeat);
  return fmt::format("{} repeat{}", cell.repeat, cell.repeat == 1 ? "" : "s");
}

// What runs beside it: ", alone", ", in turns of 150 steps with what it is compared with"
std::string company_text(const Cell& cell) {
  if (!cell.exclusive) return "";
  const std::int64_t steps = cell.request.turn_steps;
  if (steps == 0) return ", alone";
  return fmt::format(", in turns of {} step{} with what it is compared with", steps, steps == 1 ? "" : "s");
}

}  // namespace

void plan_table(const Plan& plan, const Terminal& terminal, const std::function<void(std::string_view)>& sink) {
  constexpr std::size_t kPartBytes = 64 << 10;
  std::string part = plan_summary(plan) + "\n";
  for (const PlannedCell& planned : plan.cells) {
    if (planned.skip) continue;
    const Cell& cell = planned.cell;
    part += fmt::format("runnable {}  {}  {}{}{}\n", cell.request.cell_id, cell.slug, repeats_text(cell),
                        company_text(cell), cell.required ? ", required" : "");
    for (const OwnFileField& own : kOwnFiles) {
      const WorkloadRequest& workload = cell.request.workload;
      if ((workload.*own.file).empty()) continue;
      part += fmt::format("         {}: {}, sha256 {}\n", own.name, workload.*own.file, workload.*own.sha256);
    }
    for (const std::string& note : planned.notes) part += fmt::format("         note: {}\n", note);
    for (const Gap& gap : cell.gaps) part += fmt::format("         leaves the run undecided: {}\n", gap.sentence);
    if (part.size() < kPartBytes) continue;
    sink(part);
    part.clear();
  }
  sink(part + terminal.paint(skipped_by_reason(plan), Style::dim));
}

}  // namespace reprobench
