#include "matrix/cli/compared_sides.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/cli/stored_runs.hpp"
#include "matrix/record/trace_reader.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

struct RunWord {
  std::string run;
  std::string cell;  // empty: all
};

RunWord split(const std::string& word) {
  const auto colon = word.rfind(':');
  if (colon == std::string::npos) return {word, ""};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

// Coordinates but for the stack, which is what a comparison changes.
std::string pairing_key(const Cell& cell) {
  std::string key = cell.request.suite + "/" + cell.request.workload.model + "/" + cell.request.workload.preset;
  for (const auto& [name, value] : cell.coordinates) {
    if (name != "stack") key += "/" + name + "=" + value;
  }
  return key;
}

// The first completed attempt of a cell, its trace read.
std::optional<ComparedSide> side_of(const RunRecord& run, std::size_t index) {
  const Cell& cell = run.plan.cells[index].cell;
  for (const AttemptRecord& attempt : run.cells[index].attempts) {
    if (attempt.end != AttemptEnd::completed) continue;
    ComparedSide side{fmt::format("{}:{}", run.info.run_id, cell.request.cell_id), cell.request, attempt};
    const auto injection = cell.injections.find(attempt.repeat);
    if (injection != cell.injections.end()) side.request.inject = injection->second;
    if (!side.attempt.trace) {
      side.attempt.trace = read_trace(std::filesystem::path(run.folder) / attempt.folder / "trace.jsonl",
                                      cell.request.cell_id, attempt.nonce);
    }
    if (!side.attempt.trace->problem.empty()) throw StoreError(attempt.folder + ": " + side.attempt.trace->problem);
    return side;
  }
  return std::nullopt;
}

bool is_called(const Cell& cell, const std::string& name) {
  return cell.slug == name || (name.size() >= 4 && cell.request.cell_id.rfind(name, 0) == 0);
}

struct RunSide {
  std::string key;
  ComparedSide side;
};

std::vector<RunSide> sides_of(const std::filesystem::path& store, const RunWord& word) {
  const RunRecord run = load_run(find_run(store, word.run).string());
  std::vector<RunSide> sides;
  for (std::size_t i = 0; i < run.plan.cells.size(); ++i) {
    const Cell& cell = run.plan.cells[i].cell;
    if (!word.cell.empty() && !is_called(cell, word.cell)) continue;
    if (auto side = side_of(run, i)) sides.push_back({pairing_key(cell), std::move(*side)});
  }
  if (sides.empty()) {
    throw UsageError(word.cell.empty() ? fmt::format("run {} has no completed cell", run.info.run_id)
                                       : fmt::format("run {} has no completed cell `{}`", run.info.run_id, word.cell));
  }
  return sides;
}

// The cell of the other run with the same coordinates; without one, the only cell that differs in nothing but its
// stack.
const ComparedSide* partner_of(const RunSide& ours, const std::vector<RunSide>& theirs) {
  const ComparedSide* found = nullptr;
  int candidates = 0;
  for (const RunSide& other : theirs) {
    if (other.key != ours.key) continue;
    if (other.side.request.stack == ours.side.request.stack) return &other.side;
    found = &other.side;
    ++candidates;
  }
  return candidates == 1 ? found : nullptr;
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

}  // namespace

std::vector<SidePair> sides_of_runs(const std::filesystem::path& store, const std::string& a, const std::string& b) {
  const RunWord first = split(a);
  const RunWord second = split(b);
  auto ours = sides_of(store, first);
  auto theirs = sides_of(store, second);
  std::vector<SidePair> pairs;
  // Two cells named by hand are compared whatever their coordinates; the comparison itself refuses what cannot be.
  if (!first.cell.empty() && !second.cell.empty()) {
    pairs.emplace_back(std::move(ours.front().side), std::move(theirs.front().side));
    return pairs;
  }
  for (RunSide& our : ours) {
    if (const ComparedSide* partner = partner_of(our, theirs)) pairs.emplace_back(std::move(our.side), *partner);
  }
  if (pairs.empty()) throw UsageError(fmt::format("{} and {} have no cell in common", a, b));
  return pairs;
}

SidePair sides_of_stacks(const std::string& a, const std::string& b, const WorkloadChoice& choice,
                         const Capability& capability, ReplayRunner& replays) {
  const WorkloadPreset& preset = preset_of(choice, capability);
  CellRequest request;
  request.workload = {choice.model, preset.name, choice.steps,
                      choice.batch_size > 0 ? choice.batch_size : preset.batch_size};
  request.device = "cpu";
  request.trace = TraceLevel::tensor;
  CellRequest ours = request;
  ours.stack = a;
  ours.knobs = with_defaults(choice.measured_knobs);
  CellRequest theirs = request;
  theirs.stack = b;
  theirs.knobs = with_defaults(choice.expected_knobs);
  auto outcomes = replays.run({{"a-run", ours}, {"b-run", theirs}});
  return {{a, std::move(ours), std::move(outcomes[0].attempt)}, {b, std::move(theirs), std::move(outcomes[1].attempt)}};
}

}  // namespace reprobench
