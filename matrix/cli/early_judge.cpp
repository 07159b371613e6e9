#include "matrix/cli/early_judge.hpp"

#include "matrix/verdict/judge.hpp"

namespace reprobench {

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

// A run of the cell and its reference alone: what has not ended yet is missing, which is no failure.
void EarlyJudge::judge(const PlannedCell& planned, std::vector<CellVerdict>& failed) {
  const std::string& id = planned.cell.request.cell_id;
  RunRecord pair;
  pair.folder = run_folder_;
  const auto add = [&](const std::string& cell_id) {
    const auto cell = planned_.find(cell_id);
    const auto record = ended_.find(cell_id);
    if (cell == planned_.end() || record == ended_.end()) return;
    pair.plan.cells.push_back(*cell->second);
    pair.cells.push_back(record->second);
  };
  add(id);
  if (planned.cell.reference_cell_id) add(*planned.cell.reference_cell_id);
  CellVerdict verdict = reprobench::judge(pair).cells.front();
  if (verdict.outcome != Outcome::failed || failed_[id]) return;
  failed_[id] = true;
  failed.push_back(std::move(verdict));
}

}  // namespace reprobench
