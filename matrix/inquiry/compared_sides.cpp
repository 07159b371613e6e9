#include "matrix/inquiry/compared_sides.hpp"

#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/inquiry/explain/non_finite.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/trace_reader.hpp"
#include "matrix/spec/files/own_files.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

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
    throw UsageError(unknown_name(fmt::format("preset of `{}`", choice.model), choice.preset, presets));
  }
  throw UsageError(unknown_name("model", choice.model, models));
}

void take_own_files(const WorkloadChoice& choice, const Capability& capability, WorkloadRequest& workload) {
  Diagnostics diagnostics;
  for (const auto& [kind, give] : choice.own_files) {
    Vocabulary vocabulary;
    for (const WorkloadDescription& known : capability.workloads) {
      (vocabulary.*kind->takers)[known.model] = known.*kind->described;
    }
    give_own_file(*kind, give, workload, {kind->option(), 0, 0}, vocabulary, diagnostics);
  }
  diagnostics.throw_if_any();
}

// In fp32 under AdamW: the parameter, its gradient and two moments. Less where some are frozen; activations come on
// top.
std::int64_t state_bytes_of(const WorkloadChoice& choice, const Capability& capability) {
  return preset_of(choice, capability).parameters * 4 * 4;
}

// Trains them side by side. A loss that is not finite is a result; any other end throws ReplayFailed.
std::vector<ComparedSide> run_requests(const std::vector<CellRequest>& requests, std::int64_t state_bytes,
                                       Replays& replays) {
  std::vector<ReplayTask> tasks;
  for (const CellRequest& request : requests) {
    tasks.push_back({fmt::format("run-{}", tasks.size()), request, state_bytes});
  }
  auto outcomes = replays.run_to_any_end(tasks);
  std::vector<ComparedSide> sides;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!non_finite_step(outcomes[i].attempt)) require_completed(tasks[i], outcomes[i]);
    sides.push_back({requests[i].stack, requests[i], std::move(outcomes[i].attempt), outcomes[i].folder});
  }
  return sides;
}

}  // namespace

CellRequest training_request(const std::string& stack, const WorkloadChoice& choice, const KnobValues& chosen_knobs,
                             const Capability& capability) {
  const WorkloadPreset& preset = preset_of(choice, capability);
  CellRequest request;
  request.stack = stack;
  request.workload = {choice.model, preset.name, choice.steps,
                      choice.batch_size > 0 ? choice.batch_size : preset.batch_size};
  take_own_files(choice, capability, request.workload);
  request.device = "cpu";
  request.knobs = with_defaults(chosen_knobs);
  request.trace = TraceLevel::tensor;
  return request;
}

void read_trace_of(ComparedSide& side) {
  if (!side.missing.empty()) return;
  const bool is_whole = side.attempt.end == AttemptEnd::completed;
  for (std::size_t number = 0; number < side.attempt.ranks.size(); ++number) {
    RankRecord& rank = side.attempt.ranks[number];
    if (rank.trace) continue;
    const std::filesystem::path folder = number == 0 ? side.folder : side.stored->run_folder / rank.folder;
    rank.trace =
        read_trace(folder / "trace.jsonl", side.request.cell_id, side.attempt.nonce, 1, static_cast<int>(number));
    const std::string& problem = is_whole ? rank.trace->problem : rank.trace->recent_problem;
    if (!problem.empty()) throw StoreError(folder.string() + ": " + problem);
  }
}

SidePair sides_of_stacks(const std::string& a, const std::string& b, const WorkloadChoice& choice,
                         const Capability& capability, Replays& replays, const std::function<void()>& begin) {
  const std::vector<CellRequest> requests = {training_request(a, choice, choice.measured_knobs, capability),
                                             training_request(b, choice, choice.expected_knobs, capability)};
  begin();
  auto sides = run_requests(requests, state_bytes_of(choice, capability), replays);
  return {std::move(sides[0]), std::move(sides[1])};
}

ComparedSide side_of_stack(const std::string& stack, const WorkloadChoice& choice, const Capability& capability,
                           Replays& replays) {
  return std::move(run_requests({training_request(stack, choice, choice.expected_knobs, capability)},
                                state_bytes_of(choice, capability), replays)
                       .front());
}

LossEquivalence equivalence_of_stacks(const SidePair& sides, int seeds, Replays& replays) {
  std::vector<ReplayTask> tasks;
  for (int seed = 1; seed <= seeds; ++seed) {
    for (const ComparedSide* side : {&sides.first, &sides.second}) {
      ReplayTask task{fmt::format("{}-seed-{}", side == &sides.first ? "a" : "b", seed), side->request};
      set<&Settings::seed>(task.request.knobs, static_cast<std::uint64_t>(seed));
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
