#include "matrix/cli/bisect_hint.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/cli/bisect_axis.hpp"
#include "matrix/cli/hybrid_mixes.hpp"
#include "matrix/cli/verbs/selection.hpp"
#include "matrix/cli/verbs/store_option.hpp"
#include "matrix/inquiry/bisect/checked_cell.hpp"

namespace reprobench {
namespace {

bool is_worker(const std::string& option) { return option.starts_with("--worker "); }

// A worker that was given brings no files to exchange.
std::string between(const Project& project, const std::string& good, const std::string& bad,
                    const PlanRequest& request) {
  const std::vector<std::string> axis = bisect_axis(project.stack_files(), good, bad, {});
  const bool has_files = !std::ranges::any_of(request.overrides, &is_worker) && have_hybrids(project, good, bad);
  if (axis.size() == 2) return has_files ? "which component did it: " : "";
  return "which stack between did it: ";
}

// Stacks that were not run may not be installed, and would be untestable.
bool wants_installing(const Project& project, const std::string& good, const std::string& bad) {
  const StackCatalog catalog = project.catalog();
  const std::vector<std::string> axis = bisect_axis(project.stack_files(), good, bad, {});
  return std::any_of(axis.begin() + 1, axis.end() - 1,
                     [&](const std::string& stack) { return !catalog.availability.at(stack).installed; });
}

std::string command_for(const Project& project, const CheckedCell& checked, const std::string& good,
                        const PlanRequest& request) {
  const AskedCheck& asked = checked.asked;
  std::string command = fmt::format("reprobench bisect --good {} --bad {} --check {} {} --run {}", good, checked.stack,
                                    asked.cell_id, shell_word(name_of(asked)), asked.run);
  for (const std::string& option : request.overrides) {
    if (is_worker(option)) command += " " + option;
  }
  if (wants_installing(project, good, checked.stack)) command += " --install";
  return in_store(command, project.store().string());
}

std::string hint_for(const Project& project, const RunVerdict& verdict, const Plan& plan, const CellVerdict& cell,
                     const CheckResult& check) {
  try {
    const CheckedCell checked = checked_cell(verdict, plan, cell, name_of(check));
    const std::vector<std::string> fixed = fixed_stacks(checked);
    if (fixed.size() != 1 || checked.is_of_images) return "";
    const std::string what = between(project, fixed.front(), checked.stack, plan.request);
    return what.empty() ? "" : what + command_for(project, checked, fixed.front(), plan.request) + "\n";
  } catch (const UsageError&) {  // a check that cannot be asked again
    return "";
  }
}

}  // namespace

std::string bisect_hint(const Project& project, const RunVerdict& verdict, const Plan& plan) {
  for (const CellVerdict& cell : verdict.cells) {
    if (cell.outcome != Outcome::failed) continue;
    for (const CheckResult& check : cell.checks) {
      if (check.gate != Gate::armed || check.status != CheckStatus::failed) continue;
      std::string hint = hint_for(project, verdict, plan, cell, check);
      if (!hint.empty()) return hint;
    }
  }
  return "";
}

}  // namespace reprobench
