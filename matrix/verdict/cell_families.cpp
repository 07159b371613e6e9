#include "matrix/verdict/cell_families.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "matrix/contract/device/device_class.hpp"
#include "matrix/contract/knob.hpp"
#include "matrix/contract/reason.hpp"
#include "matrix/verdict/check.hpp"

namespace reprobench {

CellFamilies::CellFamilies(const Plan& plan) {
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.skip || planned.skip->rule != kDeselected) seeds_[apart_from_seed(planned.cell)].push_back(&planned);
    if (is_cpu(planned.cell)) on_cpu_.emplace(apart_from_device(planned.cell), &planned);
    if (is_another_layout(planned.cell)) continue;
    on_one_rank_.emplace(apart_from_layout(planned.cell), &planned);
    of_one_share_.emplace(of_share(planned.cell), &planned);
  }
}

bool CellFamilies::is_another_layout(const Cell& cell) {
  const KnobValues& knobs = cell.request.knobs;
  return cell.request.world_size != 1 || setting_in<&Settings::replicas>(knobs) != 1 ||
         setting_in<&Settings::offload>(knobs) != Offload::none;
}

bool CellFamilies::is_cpu(const Cell& cell) { return DeviceClass::parse(cell.request.device) == kCpu; }

// Of a merged run two cells may be called alike and train on other files of the user's.
CellFamilies::Key CellFamilies::key_of(const Cell& cell) {
  Key key{cell.coordinates, cell.request.knobs};
  for (const OwnFileField& own : kOwnFiles) {
    key.second[std::string(own.name) + " sha256"] = cell.request.workload.*own.sha256;  // no knob's name
  }
  return key;
}

CellFamilies::Key CellFamilies::apart_from_seed(const Cell& cell) {
  Key key = key_of(cell);
  const std::string seed(knob_for<&Settings::seed>().name);
  key.first.erase(seed);
  key.second.erase(seed);
  return key;
}

CellFamilies::Key CellFamilies::apart_from_layout(const Cell& cell) {
  Key key = key_of(cell);
  key.first.erase("world_size");
  for (const Knob& knob : knobs()) {
    if (knob.shares_out == SharesOut::nothing) continue;
    key.first.erase(std::string(knob.name));
    key.second.erase(std::string(knob.name));
  }
  key.second["micro batches"] = std::to_string(micro_batches_of(cell.request));  // no knob's name
  return key;
}

// A CPU of another host of a merged run trains the same.
CellFamilies::Key CellFamilies::apart_from_device(const Cell& cell) {
  Key key = key_of(cell);
  for (const char* place : {"device", "host"}) key.first.erase(place);
  return key;
}

// A workload's name has its batch where a suite has the model twice, so what it is called by is left out.
CellFamilies::Key CellFamilies::of_share(const Cell& cell) {
  Key key = key_of(cell);
  for (const char* name : {"world_size", "workload"}) key.first.erase(name);
  for (const Knob& knob : knobs()) {
    if (knob.shares_out != SharesOut::state) continue;
    key.first.erase(std::string(knob.name));
    key.second.erase(std::string(knob.name));
  }
  const WorkloadRequest& workload = cell.request.workload;
  const int ranks = cell.request.world_size;
  key.second["share of a rank"] =  // no knob's name; a batch that cannot be shared out has a remainder no one rank has
      fmt::format("{}/{}/{} steps, stopped after {}, {} samples, {} left", workload.name(), workload.preset,
                  workload.steps, workload.resume_after, workload.batch_size / ranks, workload.batch_size % ranks);
  return key;
}

const std::vector<const PlannedCell*>& CellFamilies::of_seeds(const Cell& cell) const {
  static const std::vector<const PlannedCell*> kNone;
  const auto found = seeds_.find(apart_from_seed(cell));
  return found == seeds_.end() ? kNone : found->second;
}

const PlannedCell* CellFamilies::of_one_share(const Cell& cell) const {
  const auto found = of_one_share_.find(of_share(cell));
  return found == of_one_share_.end() ? nullptr : found->second;
}

const PlannedCell* CellFamilies::on_cpu(const Cell& cell) const {
  const auto found = on_cpu_.find(apart_from_device(cell));
  return found == on_cpu_.end() ? nullptr : found->second;
}

const PlannedCell* CellFamilies::on_one_rank(const Cell& cell) const {
  const auto found = on_one_rank_.find(apart_from_layout(cell));
  return found == on_one_rank_.end() ? nullptr : found->second;
}

bool CellFamilies::is_held_against_layouts(const Cell& cell) {
  return is_another_layout(cell) && std::ranges::any_of(cell.thresholds, [](const CellThreshold& threshold) {
           const Against against = opposite_of(threshold);
           return against == Against::one_rank || against == Against::one_share;
         });
}

std::vector<const PlannedCell*> CellFamilies::compared_with(const Cell& cell) const {
  std::vector<const PlannedCell*> cells;
  const auto add = [&](const PlannedCell* other) {
    if (other != nullptr && std::ranges::find(cells, other) == cells.end()) cells.push_back(other);
  };
  for (const CellThreshold& threshold : cell.thresholds) {
    const Against against = opposite_of(threshold);
    if (against == Against::one_rank && is_another_layout(cell)) add(on_one_rank(cell));
    if (against == Against::one_share && cell.request.world_size > 1) add(of_one_share(cell));
  }
  return cells;
}

}  // namespace reprobench
