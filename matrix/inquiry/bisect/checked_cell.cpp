#include "matrix/inquiry/bisect/checked_cell.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/cell_families.hpp"
#include "matrix/verdict/check.hpp"

namespace reprobench {
namespace {

constexpr const char* kSetApart = "reference";

const CheckResult& failed_check(const CellVerdict& cell, const std::string& wanted) {
  std::vector<const CheckResult*> named;
  std::vector<std::string> known;
  for (const CheckResult& check : cell.checks) {
    known.push_back(name_of(check));
    if (wanted == check.metric || wanted == name_of(check)) named.push_back(&check);
  }
  if (named.empty()) throw UsageError(unknown_name("check of cell " + cell.slug, wanted, known));
  const std::string first = fmt::format("{} of {}", name_of(*named.front()), cell.slug);
  std::erase_if(named, [](const CheckResult* check) { return check->gate != Gate::armed; });
  if (named.empty()) throw UsageError(fmt::format("{} has no armed bound: it decides nothing", first));
  const CheckResult* armed = named.front();
  std::erase_if(named, [](const CheckResult* check) { return check->status != CheckStatus::failed; });
  if (named.empty()) {
    throw UsageError(
        fmt::format("{} did not fail in that run ({}): {}", first, to_string(armed->status), armed->sentence));
  }
  if (named.size() > 1) {
    std::vector<std::string> names;
    for (const CheckResult* check : named) names.push_back(fmt::format("'{}'", name_of(*check)));
    throw UsageError(fmt::format("{} failed {} times: name one of {}", wanted, named.size(), fmt::join(names, ", ")));
  }
  return *named.front();
}

// The checks of a run that no matrix sets, such as a loss that is not finite, have no threshold.
const CellThreshold& threshold_of(const Cell& cell, const CheckResult& check) {
  const auto found = std::ranges::find_if(cell.thresholds, [&](const CellThreshold& threshold) {
    return threshold.gate == Gate::armed && threshold.metric == check.metric && threshold.of.text() == check.of;
  });
  if (found == cell.thresholds.end()) {
    throw UsageError(
        fmt::format("{} of {} has no bound of its own that another stack could be held to", name_of(check), cell.slug));
  }
  return *found;
}

// The cell and all that this threshold compares it with, in that order.
std::vector<const PlannedCell*> needed_for(const PlannedCell& planned, const CellThreshold& threshold,
                                           const Plan& plan) {
  std::vector<const PlannedCell*> needed{&planned};
  const auto add = [&](const PlannedCell* other) {
    if (other != nullptr && std::ranges::find(needed, other) == needed.end()) needed.push_back(other);
  };
  const CellFamilies families(plan);
  const Cell& cell = planned.cell;
  switch (opposite_of(threshold)) {
    case Against::nothing:
      return needed;
    case Against::seeds:
      for (const PlannedCell* other : families.of_seeds(cell)) add(other);
      break;
    case Against::one_rank:
      add(families.on_one_rank(cell));
      break;
    case Against::one_share:
      add(families.of_one_share(cell));
      break;
    case Against::on_cpu:
      add(families.on_cpu(cell));
      break;
    case Against::reference:
    case Against::other_host:
    case Against::construction:
      break;
  }
  for (const PlannedCell& other : plan.cells) {
    if (cell.reference_cell_id == other.cell.request.cell_id) add(&other);
  }
  return needed;
}

void require_askable(const CheckedCell& checked) {
  for (const PlannedCell& planned : checked.cells) {
    const Cell& cell = planned.cell;
    if (!cell.injections.empty()) {
      throw UsageError(fmt::format("{} had a planted fault: the run is a drill, and no stack did it", cell.slug));
    }
    if (!cell.request.workload.package_file.empty()) {
      throw UsageError(
          fmt::format("{} runs a package, which is code: it is not run because a stored run names it", cell.slug));
    }
  }
}

std::string with_stack(std::string slug, const std::string& before, const std::string& after) {
  const std::size_t at = slug.find(before);
  return at == std::string::npos ? slug : slug.replace(at, before.size(), after);
}

// Another cell than one that is moved to its stack.
void set_apart(Cell& cell) {
  cell.request.suite = fmt::format("{}-{}", cell.request.suite, kSetApart);
  cell.coordinates["suite"] = cell.request.suite;
  cell.slug += fmt::format("-{}", kSetApart);
}

PointAnswer untestable(std::string why) { return {PointState::untestable, std::move(why), ""}; }

}  // namespace

CheckedCell checked_cell(const RunVerdict& verdict, const Plan& plan, const CellVerdict& cell,
                         const std::string& check) {
  if (!plan.hosts.empty()) {
    throw UsageError(fmt::format("{} is a merged run: name the run of one host", verdict.info.run_id));
  }
  const CheckResult& failed = failed_check(cell, check);
  const auto planned = std::ranges::find_if(
      plan.cells, [&](const PlannedCell& candidate) { return candidate.cell.request.cell_id == cell.cell_id; });
  if (planned == plan.cells.end()) throw UsageError(fmt::format("the plan of that run has no cell {}", cell.slug));
  const CellThreshold threshold = threshold_of(planned->cell, failed);

  CheckedCell checked;
  checked.asked = {verdict.info.run_id, cell.cell_id, cell.slug, failed.metric, failed.of, failed.bound, failed.reason};
  checked.stack = planned->cell.request.stack;
  checked.is_of_images = !plan.images.empty();
  for (const PlannedCell* needed : needed_for(*planned, threshold, plan)) {
    PlannedCell& taken = checked.cells.emplace_back(*needed);
    taken.skip.reset();
    taken.notes.clear();
    taken.cell.gaps.clear();
    taken.cell.required = false;
    taken.cell.thresholds = {};
  }
  checked.cells.front().cell.thresholds = std::vector{threshold};
  require_askable(checked);
  return checked;
}

void hold_against(CheckedCell& checked, const std::string& stack) {
  for (PlannedCell& planned : checked.cells) {
    Cell& cell = planned.cell;
    if (cell.request.stack != checked.stack) cell.request.stack = cell.coordinates["stack"] = stack;
  }
}

std::vector<std::string> fixed_stacks(const CheckedCell& checked) {
  std::set<std::string> stacks;
  for (const PlannedCell& planned : checked.cells) stacks.insert(planned.cell.request.stack);
  stacks.erase(checked.stack);
  return {stacks.begin(), stacks.end()};
}

std::string question_of(const CheckedCell& checked) {
  nlohmann::json question = {{"check", name_of(checked.asked)}, {"reason", checked.asked.reason}};
  for (PlannedCell& planned : cells_on(checked, "-")) {
    Cell& cell = planned.cell;
    cell.memory_bytes = 0;  // a prediction of that run
    std::vector<CellThreshold> thresholds = cell.thresholds.items();
    for (CellThreshold& threshold : thresholds) threshold.mark = threshold.gate_mark = {};
    cell.thresholds = std::move(thresholds);
    question["cells"].push_back(written(planned));
  }
  return question.dump();
}

std::vector<PlannedCell> cells_on(const CheckedCell& checked, const std::string& stack) {
  std::vector<PlannedCell> cells = checked.cells;
  std::map<std::string, std::string> renamed;  // cell ids
  for (PlannedCell& planned : cells) {
    Cell& cell = planned.cell;
    const std::string before = cell.request.cell_id;
    if (cell.request.stack == checked.stack) {
      cell.slug = with_stack(cell.slug, checked.stack, stack);
      cell.request.stack = cell.coordinates["stack"] = stack;
    } else {
      set_apart(cell);
    }
    cell.request.cell_id = renamed[before] = cell_id_of(cell.request);
  }
  for (PlannedCell& planned : cells) {
    std::optional<std::string>& reference = planned.cell.reference_cell_id;
    if (!reference) continue;
    const auto found = renamed.find(*reference);
    reference = found == renamed.end() ? std::nullopt : std::optional(found->second);
  }
  return cells;
}

PointAnswer answer_of(const CheckedCell& checked, const CheckObservation& observation, bool is_of_components) {
  const CheckResult& seen = observation.check;
  const bool is_one_torch =
      is_of_components && observation.outcome == Outcome::inconclusive && observation.cell_reason == "same_libraries";
  if (seen.status == CheckStatus::passed && (observation.outcome == Outcome::passed || is_one_torch)) {
    return {PointState::as_good, seen.sentence, ""};
  }
  if (seen.status == CheckStatus::failed && observation.cell_reason == checked.asked.metric) {
    if (seen.reason == checked.asked.reason) return {PointState::as_bad, seen.sentence, ""};
    return untestable(fmt::format("it fails for another reason, {}: {}", seen.reason, seen.sentence));
  }
  return untestable(fmt::format("{} ({})", observation.why, observation.cell_reason));
}

}  // namespace reprobench
