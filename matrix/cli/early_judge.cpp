#include "matrix/cli/early_judge.hpp"

#include <algorithm>

#include "matrix/evidence/planned_looks.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

// Reading its traces for nothing is spared where the plan says already that no repeat will be added.
bool may_be_left_open(const Cell& cell) {
  return planned_looks(cell).size() > 1 && std::ranges::any_of(cell.thresholds, [](const CellThreshold& threshold) {
           return threshold.gate == Gate::armed && threshold.bound.kind == Bound::Kind::max_regression;
         });
}

bool is_undecided(const CheckResult& check) {
  return check.gate == Gate::armed && check.status == CheckStatus::inconclusive;
}

// Further repeats help where checks alone leave the cell open. Two sides that loaded the same LibTorch stay the same.
bool is_open_for_noise(const CellVerdict& verdict) {
  if (verdict.outcome != Outcome::inconclusive) return false;
  const auto decides = [&](const CheckResult& check) { return is_undecided(check) && check.reason == verdict.reason; };
  return std::ranges::any_of(verdict.checks, decides) &&
         std::ranges::all_of(verdict.checks, [](const CheckResult& check) {
           return !is_undecided(check) || check.reason == "noise" || check.reason == "too_few_samples" ||
                  check.reason == "undiagnosed";
         });
}

}  // namespace

EarlyJudge::EarlyJudge(const Plan& plan, std::string run_folder) : run_folder_(std::move(run_folder)) {
  for (const PlannedCell& planned : plan.cells) {
    if (planned.skip) continue;
    planned_.emplace(planned.cell.request.cell_id, &planned);
    if (planned.cell.reference_cell_id) compared_with_.emplace(*planned.cell.reference_cell_id, &planned);
  }
}

std::vector<CellVerdict> EarlyJudge::cell_ended(const CellRecord& record) {
  ended_[record.cell_id] = record;
  std::vector<CellVerdict> failed;
  judge(*planned_.at(record.cell_id), failed);
  const auto [begin, end] = compared_with_.equal_range(record.cell_id);
  for (auto it = begin; it != end; ++it) {
    if (ended_.contains(it->second->cell.request.cell_id)) judge(*it->second, failed);
  }
  return failed;
}

std::vector<CellVerdict> EarlyJudge::open_for_noise(const std::vector<const CellRecord*>& compared) {
  for (const CellRecord* record : compared) ended_[record->cell_id] = *record;
  std::vector<CellVerdict> open;
  for (const CellRecord* record : compared) {
    const PlannedCell& planned = *planned_.at(record->cell_id);
    if (!may_be_left_open(planned.cell)) continue;
    CellVerdict verdict = verdict_of(planned);
    if (is_open_for_noise(verdict)) open.push_back(std::move(verdict));
  }
  return open;
}

// A run of the cell and its reference alone: what has not ended yet is missing, which is no failure.
CellVerdict EarlyJudge::verdict_of(const PlannedCell& planned) const {
  RunRecord pair;
  pair.folder = run_folder_;
  const auto add = [&](const std::string& cell_id) {
    const auto cell = planned_.find(cell_id);
    const auto record = ended_.find(cell_id);
    if (cell == planned_.end() || record == ended_.end()) return;
    pair.plan.cells.push_back(*cell->second);
    pair.cells.push_back(record->second);
  };
  add(planned.cell.request.cell_id);
  if (planned.cell.reference_cell_id) add(*planned.cell.reference_cell_id);
  return reprobench::judge(pair).cells.front();
}

void EarlyJudge::judge(const PlannedCell& planned, std::vector<CellVerdict>& failed) {
  CellVerdict verdict = verdict_of(planned);
  bool& is_known = failed_[planned.cell.request.cell_id];
  if (verdict.outcome != Outcome::failed || is_known) return;
  is_known = true;
  failed.push_back(std::move(verdict));
}

}  // namespace reprobench
