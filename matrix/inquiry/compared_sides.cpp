#include "matrix/inquiry/compared_sides.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/contract/usage_error.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/inquiry/non_finite.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/trace_reader.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

// What a comparison may change: the stack, the device, or the host that a merged run's cells name.
bool is_compared_across(const std::string& coordinate) {
  return coordinate == "stack" || coordinate == "device" || coordinate == "host";
}

std::string pairing_key(const Cell& cell) {
  std::string key = cell.request.suite + "/" + cell.request.workload.model + "/" + cell.request.workload.preset;
  for (const auto& [name, value] : cell.coordinates) {
    if (!is_compared_across(name)) key += "/" + name + "=" + value;
  }
  return key;
}

// The first attempt of a cell that trained to its end or to a loss that is not finite.
std::optional<ComparedSide> side_of(const RunRecord& run, std::size_t index) {
  const Cell& cell = run.plan.cells[index].cell;
  if (cell.request.workload.is_probe()) return std::nullopt;  // no step to compare; its measurements are judged
  for (const AttemptRecord& attempt : run.cells[index].attempts) {
    const bool is_whole = attempt.end == AttemptEnd::completed;
    if (!is_whole && !non_finite_step(attempt)) continue;
    ComparedSide side{fmt::format("{}:{}", run.info.run_id, cell.request.cell_id), cell.request, attempt,
                      std::filesystem::path(run.folder) / attempt.lead().folder};
    const auto injection = cell.injections.find(attempt.repeat);
    if (injection != cell.injections.end()) side.request.inject = injection->second;
    return side;
  }
  return std::nullopt;
}

bool is_called(const Cell& cell, const std::string& name) {
  return cell.slug == name || (name.size() >= 4 && cell.request.cell_id.rfind(name, 0) == 0);
}

struct RunSide {
  std::string key;
  std::string host;  // of a merged run's cell
  ComparedSide side;
};

std::vector<RunSide> sides_of(const RunCells& cells) {
  const RunRecord run = load_run(cells.folder.string());
  std::vector<RunSide> sides;
  for (std::size_t i = 0; i < run.plan.cells.size(); ++i) {
    const Cell& cell = run.plan.cells[i].cell;
    if (!cells.cell.empty() && !is_called(cell, cells.cell)) continue;
    auto side = side_of(run, i);
    if (!side) continue;
    const auto host = cell.coordinates.find("host");
    sides.push_back({pairing_key(cell), host == cell.coordinates.end() ? "" : host->second, std::move(*side)});
  }
  if (sides.empty()) {
    throw UsageError(cells.cell.empty()
                         ? fmt::format("run {} has no completed cell", run.info.run_id)
                         : fmt::format("run {} has no completed cell `{}`", run.info.run_id, cells.cell));
  }
  return sides;
}

// How far two cells with one key are from being the same cell; nothing if both stack and device differ.
std::optional<int> distance(const RunSide& ours, const RunSide& theirs) {
  const bool other_stack = ours.side.request.stack != theirs.side.request.stack;
  const bool other_device = ours.side.request.device != theirs.side.request.device;
  if (other_stack && other_device) return std::nullopt;
  return (other_device ? 4 : 0) + (other_stack ? 2 : 0) + (ours.host != theirs.host ? 1 : 0);
}

// The nearest cell of the other run: the same one, best on the same host; else one that differs in nothing but its
// stack; else in nothing but its device. Of several equally near ones with another stack or device none.
const ComparedSide* partner_of(const RunSide& ours, const std::vector<RunSide>& theirs) {
  const ComparedSide* found = nullptr;
  int nearest = 0;
  int candidates = 0;
  for (const RunSide& other : theirs) {
    if (other.key != ours.key) continue;
    const auto away = distance(ours, other);
    if (!away || (found != nullptr && *away > nearest)) continue;
    if (found != nullptr && *away == nearest) {
      ++candidates;
      continue;
    }
    found = &other.side;
    nearest = *away;
    candidates = 1;
  }
  return nearest < 2 || candidates == 1 ? found : nullptr;
}

const WorkloadPreset& preset_of(const WorkloadChoice& choice, const Capability& capability) {
  std::vector<std::string> models;
  for (const WorkloadDescription& workload : capability.workloads) {
    models.push_back(workload.model);
    if (workload.model != choice.model) continue;
    std::vector<std::string> presets;
    for (const WorkloadPreset& preset : workload.presets) {
      presets.push_back(preset.name);
      if (choice.preset.empty() || preset.name == choice.preset) return preset;
    }
    throw UsageError(
        fmt::format("model `{}` has no preset `{}`; it has {}", choice.model, choice.preset, fmt::join(presets, ", ")));
  }
  throw UsageError(fmt::format("there is no model `{}`; {}", choice.model, did_you_mean(choice.model, models)));
}

CellRequest request_of(const std::string& stack, const WorkloadChoice& choice, const KnobValues& chosen_knobs,
                       const Capability& capability) {
  const WorkloadPreset& preset = preset_of(choice, capability);
  CellRequest request;
  request.stack = stack;
  request.workload = {choice.model, preset.name, choice.steps,
                      choice.batch_size > 0 ? choice.batch_size : preset.batch_size};
  request.device = "cpu";
  request.knobs = with_defaults(chosen_knobs);
  request.trace = TraceLevel::tensor;
  return request;
}

// Trains them side by side. A loss that is not finite is a result; any other end throws ReplayFailed.
std::vector<ComparedSide> run_requests(const std::vector<CellRequest>& requests, Replays& replays) {
  std::vector<ReplayTask> tasks;
  for (const CellRequest& request : requests) tasks.push_back({fmt::format("run-{}", tasks.size()), request});
  auto outcomes = replays.run_to_any_end(tasks);
  std::vector<ComparedSide> sides;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!non_finite_step(outcomes[i].attempt)) require_completed(tasks[i], outcomes[i]);
    sides.push_back({requests[i].stack, requests[i], std::move(outcomes[i].attempt), outcomes[i].folder});
  }
  return sides;
}

}  // namespace

void read_trace_of(ComparedSide& side) {
  if (side.attempt.lead().trace) return;
  side.attempt.lead().trace = read_trace(side.folder / "trace.jsonl", side.request.cell_id, side.attempt.nonce);
  const bool is_whole = side.attempt.end == AttemptEnd::completed;
  if (is_whole && !side.attempt.lead().trace->problem.empty()) {
    throw StoreError(side.folder.string() + ": " + side.attempt.lead().trace->problem);
  }
}

std::vector<SidePair> sides_within_run(const std::filesystem::path& run_folder) {
  const RunRecord run = load_run(run_folder.string());
  std::map<std::string, ComparedSide> by_id;
  bool has_tensors = false;
  for (std::size_t i = 0; i < run.plan.cells.size(); ++i) {
    auto side = side_of(run, i);
    if (!side) continue;
    has_tensors = has_tensors || side->request.trace == TraceLevel::tensor;
    by_id.emplace(side->request.cell_id, std::move(*side));
  }
  std::vector<SidePair> pairs;
  for (const PlannedCell& planned : run.plan.cells) {
    const auto ours = by_id.find(planned.cell.request.cell_id);
    const auto theirs = by_id.find(planned.cell.reference_cell_id.value_or(""));
    if (ours == by_id.end() || theirs == by_id.end()) continue;
    if (has_tensors && ours->second.request.trace != TraceLevel::tensor) continue;
    pairs.emplace_back(ours->second, theirs->second);
  }
  if (pairs.empty()) {
    throw UsageError(fmt::format("run {} has no cell that trained and whose reference trained, too", run.info.run_id));
  }
  return pairs;
}

std::vector<SidePair> sides_of_runs(const RunCells& measured, const RunCells& expected) {
  auto ours = sides_of(measured);
  auto theirs = sides_of(expected);
  std::vector<SidePair> pairs;
  // Two cells named by hand are compared whatever their coordinates; the comparison itself refuses what cannot be.
  if (!measured.cell.empty() && !expected.cell.empty()) {
    pairs.emplace_back(std::move(ours.front().side), std::move(theirs.front().side));
    return pairs;
  }
  for (RunSide& our : ours) {
    if (const ComparedSide* partner = partner_of(our, theirs)) pairs.emplace_back(std::move(our.side), *partner);
  }
  if (pairs.empty()) {
    throw UsageError(fmt::format("{} and {} have no cell in common", measured.folder.filename().string(),
                                 expected.folder.filename().string()));
  }
  return pairs;
}

SidePair sides_of_stacks(const std::string& a, const std::string& b, const WorkloadChoice& choice,
                         const Capability& capability, Replays& replays) {
  auto sides = run_requests({request_of(a, choice, choice.measured_knobs, capability),
                             request_of(b, choice, choice.expected_knobs, capability)},
                            replays);
  return {std::move(sides[0]), std::move(sides[1])};
}

ComparedSide side_of_stack(const std::string& stack, const WorkloadChoice& choice, const Capability& capability,
                           Replays& replays) {
  return std::move(run_requests({request_of(stack, choice, choice.expected_knobs, capability)}, replays).front());
}

LossEquivalence equivalence_of_stacks(const SidePair& sides, int seeds, Replays& replays) {
  std::vector<ReplayTask> tasks;
  for (int seed = 1; seed <= seeds; ++seed) {
    for (const ComparedSide* side : {&sides.first, &sides.second}) {
      ReplayTask task{fmt::format("{}-seed-{}", side == &sides.first ? "a" : "b", seed), side->request};
      task.request.knobs["seed"] = std::to_string(seed);
      task.request.trace = TraceLevel::step;
      tasks.push_back(std::move(task));
    }
  }
  const auto outcomes = replays.run(tasks);
  std::vector<const Trace*> measured;
  std::vector<const Trace*> expected;
  for (std::size_t i = 0; i < outcomes.size(); i += 2) {
    measured.push_back(&*outcomes[i].attempt.lead().trace);
    expected.push_back(&*outcomes[i + 1].attempt.lead().trace);
  }
  return loss_equivalence(measured, expected);
}

}  // namespace reprobench
