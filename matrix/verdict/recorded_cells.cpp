#include "matrix/verdict/recorded_cells.hpp"

#include <algorithm>

#include "matrix/evidence/parallel.hpp"
#include "matrix/evidence/planned_looks.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/verdict/environment.hpp"
#include "matrix/verdict/link_notes.hpp"

namespace reprobench {

RecordedCells::RecordedCells(const RunRecord& run) : run_(run) {
  for (const CellRecord& record : run.cells) records_.emplace(record.cell_id, &record);
  for (const PlannedCell& planned : run.plan.cells) {
    planned_.emplace(planned.cell.request.cell_id, &planned);
    const std::string id = name_without_host(planned.cell.request.cell_id);
    if (id != planned.cell.request.cell_id) on_hosts_[id].push_back(&planned);
    if (planned.cell.reference_cell_id) references_.insert(*planned.cell.reference_cell_id);
  }
  for (const CellRecord& record : run.cells) {
    const PlannedCell* of_plan = planned(record.cell_id);
    if (of_plan == nullptr) continue;
    const std::string stack = stack_and_driver(of_plan->cell);
    for (const AttemptRecord& attempt : record.attempts) faults_.add(stack, attempt);
  }
}

const PlannedCell* RecordedCells::planned(const std::string& cell_id) const {
  const auto found = planned_.find(cell_id);
  return found == planned_.end() ? nullptr : found->second;
}

const CellRecord* RecordedCells::record(const std::string& cell_id) const {
  const auto found = records_.find(cell_id);
  return found == records_.end() ? nullptr : found->second;
}

std::optional<RecordedCells::Recorded> RecordedCells::reference_of(const Cell& cell) const {
  if (!cell.reference_cell_id) return std::nullopt;
  const PlannedCell* of_plan = planned(*cell.reference_cell_id);
  const CellRecord* recorded = record(*cell.reference_cell_id);
  if (of_plan == nullptr || recorded == nullptr) return std::nullopt;
  return Recorded{*of_plan, *recorded};
}

const PlannedCell* RecordedCells::on_other_host(const Cell& cell) const {
  const auto found = on_hosts_.find(name_without_host(cell.request.cell_id));
  if (found == on_hosts_.end()) return nullptr;
  const auto& cells = found->second;
  const auto other = std::ranges::find_if(
      cells, [&](const PlannedCell* candidate) { return candidate->cell.request.cell_id != cell.request.cell_id; });
  return other == cells.end() ? nullptr : *other;
}

std::optional<Ended> RecordedCells::ended_early(const Cell& cell, const Repeats& repeats) const {
  return reprobench::ended_early(cell, repeats, stack_and_driver(cell), faults_);
}

std::vector<std::string> RecordedCells::links_of(const Cell& cell, const AttemptRecord& attempt) const {
  return attempt.telemetry ? links_between(host_of(cell), attempt.telemetry->gpus) : std::vector<std::string>{};
}

CellEvidence RecordedCells::read_evidence(const Cell& cell, const Repeats& repeats) const {
  const auto host = cell.coordinates.find("host");
  CellEvidence evidence{cell.slug, cell.request.device, host == cell.coordinates.end() ? "" : host->second, {}};
  evidence.run = cell.run;
  evidence.looks = planned_looks(cell);
  evidence.precision = precision_text(cell.request);
  const auto diagnosis = run_.diagnoses.find(cell.request.cell_id);
  if (diagnosis != run_.diagnoses.end() && diagnosis->second.reference_cell_id == cell.reference_cell_id) {
    evidence.diagnosis = &diagnosis->second;
  }
  for (const AttemptRecord* attempt : repeats) {
    evidence.repeats.push_back(*attempt);
    if (auto kinds = link_kinds(links_of(cell, *attempt)); !kinds.empty()) evidence.links.insert(std::move(kinds));
  }
  for_each_in_parallel(evidence.repeats.size(),
                       [&](std::size_t repeat) { load_traces(evidence.repeats[repeat], run_.folder, cell.request); });
  return evidence;
}

std::shared_ptr<const CellEvidence> RecordedCells::evidence_of(const Cell& cell) const {
  auto evidence = read_[&cell].lock();
  std::erase(kept_, evidence);
  if (kept_.size() == kKept) kept_.pop_back();  // before another one takes its memory
  if (evidence == nullptr) {
    const Repeats repeats = last_attempts(cell, *record(cell.request.cell_id));
    evidence = std::make_shared<const CellEvidence>(read_evidence(cell, repeats));
    read_[&cell] = evidence;
  }
  kept_.push_front(evidence);
  return evidence;
}

// In a merged run that of the cell's label.
const HostFacts& RecordedCells::host_of(const Cell& cell) const {
  const auto label = cell.coordinates.find("host");
  for (const PlanHost& host : run_.plan.hosts) {
    if (label != cell.coordinates.end() && host.label == label->second) return host.facts;
  }
  return run_.plan.host;
}

// Under which a device fault on two GPUs is no accident; in a merged run drivers may differ.
std::string RecordedCells::stack_and_driver(const Cell& cell) const {
  return cell.request.stack + " " + host_of(cell).driver;
}

}  // namespace reprobench
