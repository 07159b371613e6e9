#include "matrix/inquiry/explain/step_judgement.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "matrix/inquiry/explain/lockstep_bounds.hpp"
#include "matrix/inquiry/explain/replay_files.hpp"

namespace reprobench {
namespace {

Lockstep judge_from(const JudgedSides& sides, const LegitimateRatio& legitimate, const std::filesystem::path& states,
                    std::int64_t state, Replays& replays) {
  Replay replay;
  replay.from_state = states / snapshot_file(state);
  replay.first_step = state + 1;
  replay.last_step = state + sides.settings.lockstep_batches;
  replay.hold_state = true;
  ReplayTask exact{"c-fp64", sides.expected.replayed(replay)};
  set<&Settings::precision>(exact.request.knobs, Precision::fp64);
  exact.request.inject.reset();
  const auto outcomes = replays.run(
      {{"a-lockstep", sides.measured.replayed(replay)}, {"b-lockstep", sides.expected.replayed(replay)}, exact});
  const LockstepOptions options = lockstep_options(sides.measured.request, legitimate);
  return judge_lockstep_files(outcomes[0].folder, outcomes[1].folder, outcomes[2].folder, replay, options);
}

}  // namespace

void judge_steps(const JudgedSides& sides, const std::filesystem::path& states, std::int64_t state, Replays& replays,
                 Explanation& explanation) {
  if (setting_in<&Settings::precision>(sides.measured.request.knobs) == Precision::fp64) {
    explanation.notes.push_back("no fp64 judgement: the runs are fp64 themselves");
    return;
  }
  const LegitimateRatio legitimate = legitimate_ratio_of(sides.measured, sides.expected, sides.settings.bounds_store);
  explanation.notes.insert(explanation.notes.end(), legitimate.notes.begin(), legitimate.notes.end());
  explanation.lockstep_state = state;
  explanation.lockstep = judge_from(sides, legitimate, states, state, replays);
  const auto& further = sides.settings.lockstep_states;
  if (further.empty()) return;
  Replay replay;
  replay.snapshots_after = further;
  replay.last_step = std::max<std::int64_t>(1, *std::max_element(further.begin(), further.end()));
  const auto begun = replays.run({{"b-states", sides.expected.replayed(replay)}});
  for (const std::int64_t other : further) {
    const Lockstep judged = judge_from(sides, legitimate, begun.front().folder, other, replays);
    explanation.lockstep_states.push_back({other, judged.word, judged.sentence});
  }
}

Lockstep judge_lockstep_files(const std::filesystem::path& measured, const std::filesystem::path& expected,
                              const std::filesystem::path& exact, const Replay& replay,
                              const LockstepOptions& options) {
  std::vector<SafetensorsFile> files;
  for (std::int64_t step = replay.first_step; step <= replay.last_step; ++step) {
    for (const auto& folder : {measured, expected, exact}) {
      files.push_back(tensors_left_in(folder, gradients_file(step)));
    }
  }
  std::vector<LockstepBatch> batches;
  for (std::size_t i = 0; i < files.size(); i += 3) {
    batches.push_back({files[i].tensors(), files[i + 1].tensors(), files[i + 2].tensors()});
  }
  return judge_lockstep(batches, options);
}

}  // namespace reprobench
