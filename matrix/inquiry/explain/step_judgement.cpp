#include "matrix/inquiry/explain/step_judgement.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/inquiry/explain/lockstep_bounds.hpp"
#include "matrix/inquiry/explain/replay_files.hpp"
#include "matrix/numerics/steps/discrete_events.hpp"
#include "matrix/record/plain_file.hpp"

namespace reprobench {
namespace {

// An update that is written otherwise changes no gradient of its step, so the optimizer's calls do not count.
Operators operators_of(const Explanation& explanation) {
  const auto makes_gradients = [](const OperatorRecord& call) { return call.pass != "optimizer"; };
  const auto is_of_others = [&](const DifferenceSource& source) {
    return !source.call && source.region &&
           (std::ranges::any_of(source.region->measured.calls, makes_gradients) ||
            std::ranges::any_of(source.region->expected.calls, makes_gradients));
  };
  const bool has_others = is_of_others(explanation) || std::ranges::any_of(explanation.further_sources, is_of_others);
  return has_others ? Operators::others : Operators::same;
}

// Steps of both sides and of the fp64 run from one state.
struct HeldSteps {
  Replay replay;
  std::vector<ReplayOutcome> outcomes;  // of the measured side, the expected one, and fp64
  Lockstep judged;
};

HeldSteps judge_from(const JudgedSides& sides, const LegitimateRatio& legitimate, const std::filesystem::path& states,
                     std::int64_t state, Replays& replays) {
  HeldSteps held;
  Replay& replay = held.replay;
  replay.from_state = states / snapshot_file(state);
  replay.first_step = state + 1;
  replay.last_step = state + sides.settings.lockstep_batches;
  replay.hold_state = true;
  ReplayTask exact{"c-fp64", sides.expected.replayed(replay)};
  set<&Settings::precision>(exact.request.knobs, Precision::fp64);
  exact.request.inject.reset();
  held.outcomes = replays.run(
      {{"a-lockstep", sides.measured.replayed(replay)}, {"b-lockstep", sides.expected.replayed(replay)}, exact});
  const LockstepOptions options = lockstep_options(sides.measured.request, legitimate);
  held.judged =
      judge_lockstep_files(held.outcomes[0].folder, held.outcomes[1].folder, held.outcomes[2].folder, replay, options);
  return held;
}

// The worst tensor that two processes of one side give different bits, in its first batch that has any.
std::optional<UnrepeatedTensor> unrepeated_tensor(const HeldSteps& held, const std::filesystem::path& first,
                                                  const std::filesystem::path& second) {
  std::vector<std::pair<SafetensorsFile, SafetensorsFile>> batches;
  for (std::int64_t step = held.replay.first_step; step <= held.replay.last_step; ++step) {
    batches.emplace_back(tensors_left_in(first, gradients_file(step)), tensors_left_in(second, gradients_file(step)));
  }
  for (const LockstepTensor& judged : held.judged.tensors) {
    for (std::size_t batch = 0; batch < batches.size(); ++batch) {
      const TensorView* one = find_tensor(batches[batch].first.tensors(), judged.name);
      const TensorView* other = find_tensor(batches[batch].second.tensors(), judged.name);
      if (one == nullptr || other == nullptr || one->bytes.size() != other->bytes.size()) continue;
      const Difference difference = diff(element_type_of(one->dtype), one->bytes, other->bytes);
      if (difference.equal_bits()) continue;
      UnrepeatedTensor unrepeated{"", judged.name, static_cast<std::int64_t>(batch), difference.count,
                                  difference.differing};
      if (difference.largest) unrepeated.max_ulp = difference.largest->ulp;
      return unrepeated;
    }
  }
  return std::nullopt;
}

// "torch-2.9.0-cu128 does not repeat itself: a second process gives 200704 of 401408 elements of `update/fc1.weight`
// other bits, up to 4012 ULP; the steps of the second processes say rounding".
std::string sentence_of(const LockstepAgain& again) {
  std::vector<std::string> sides;
  for (const UnrepeatedTensor& tensor : again.unrepeated) {
    sides.push_back(
        fmt::format("{} does not repeat itself: a second process gives {} of {} elements of `{}` other bits{}",
                    tensor.side, tensor.differing, tensor.count, tensor.tensor,
                    tensor.max_ulp ? fmt::format(", up to {} ULP", *tensor.max_ulp) : ""));
  }
  if (sides.empty()) return "both sides repeat themselves in second processes";
  return fmt::format("{}; the steps of the second processes say {}", fmt::join(sides, "; "), to_string(again.word));
}

// A library may choose a kernel by chance: the first call of MKL's vector functions in a process, on several threads,
// can be off by thousands of ULP (`mkl-vml-first-call` of the facts). A second process tells such a defect from one
// that both sides always show.
LockstepAgain take_again(const JudgedSides& sides, const LegitimateRatio& legitimate, const HeldSteps& held,
                         Replays& replays) {
  const auto again = replays.run({{"a-lockstep-again", sides.measured.replayed(held.replay)},
                                  {"b-lockstep-again", sides.expected.replayed(held.replay)}});
  LockstepAgain result;
  result.word = judge_lockstep_files(again[0].folder, again[1].folder, held.outcomes[2].folder, held.replay,
                                     lockstep_options(sides.measured.request, legitimate))
                    .word;
  for (const std::size_t side : {0, 1}) {
    auto unrepeated = unrepeated_tensor(held, held.outcomes[side].folder, again[side].folder);
    if (!unrepeated) continue;
    unrepeated->side = (side == 0 ? sides.measured : sides.expected).label;
    result.unrepeated.push_back(std::move(*unrepeated));
  }
  result.sentence = sentence_of(result);
  return result;
}

constexpr std::int64_t kFewFlips = 2;  // of a side in one batch, over all masks

// The masks of each step of a replay; none where its trace cannot be read, or holds none.
std::map<std::int64_t, TensorsRecord> masks_left_in(const std::filesystem::path& folder) {
  std::map<std::int64_t, TensorsRecord> of_steps;
  read_checked_lines(folder / "trace.jsonl", [&](const nlohmann::json& line) -> std::string {
    try {
      if (line.at("kind") != "tensors") return "";
      TensorsRecord record = tensors_record_from_json(line);
      std::erase_if(record.tensors, [](const TensorRecord& tensor) { return tensor.role != TensorRole::mask; });
      of_steps.insert_or_assign(record.step, std::move(record));
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  });
  return of_steps;
}

std::int64_t sum_of(const std::vector<EventFlips>& masks) {
  std::int64_t sum = 0;
  for (const EventFlips& mask : masks) sum += mask.flips;
  return sum;
}

// As LockstepBatch::flips has it, for each step.
std::map<std::int64_t, std::string> flips_against(const std::filesystem::path& exact,
                                                  const std::vector<std::filesystem::path>& sides) {
  std::vector<std::map<std::int64_t, TensorsRecord>> masks_of_sides;
  for (const auto& side : sides) masks_of_sides.push_back(masks_left_in(side));
  std::map<std::int64_t, std::string> texts;
  for (const auto& [step, expected] : masks_left_in(exact)) {
    std::vector<EventFlips> most;  // of the side that has more of them
    for (const auto& masks : masks_of_sides) {
      const auto ours = masks.find(step);
      if (ours == masks.end()) continue;
      if (auto flips = flips_in_step(ours->second, expected); sum_of(flips) > sum_of(most)) most = std::move(flips);
    }
    const std::int64_t count = sum_of(most);
    if (count == 0 || count > kFewFlips) continue;
    texts[step] = count == 1 ? fmt::format("1 element of `{}` is", most.front().event)
                             : fmt::format("{} elements of masks, first `{}`, are", count, most.front().event);
  }
  return texts;
}

}  // namespace

bool has_proven_order(const Explanation& explanation) {
  const auto is_another = [](const DifferenceSource& source) {
    return source.budget && source.budget->order && source.budget->order->word == OrderWord::proven;
  };
  return is_another(explanation) || std::ranges::any_of(explanation.further_sources, is_another);
}

void judge_steps(const JudgedSides& sides, const std::filesystem::path& states, std::int64_t state, Replays& replays,
                 Explanation& explanation) {
  if (setting_in<&Settings::precision>(sides.measured.request.knobs) == Precision::fp64) {
    explanation.notes.push_back("no fp64 judgement: the runs are fp64 themselves");
    return;
  }
  LegitimateRatio legitimate =
      legitimate_ratio_of(sides.measured, sides.expected, sides.settings.bounds_store, operators_of(explanation));
  explanation.notes.insert(explanation.notes.end(), legitimate.notes.begin(), legitimate.notes.end());
  legitimate.is_drawn_apart = has_proven_order(explanation);
  explanation.lockstep_state = state;
  const HeldSteps held = judge_from(sides, legitimate, states, state, replays);
  explanation.lockstep = held.judged;
  if (held.judged.word == LockstepWord::defect) {
    try {
      explanation.lockstep_again = take_again(sides, legitimate, held, replays);
    } catch (const ReplayFailed& failure) {  // the defect stands
      explanation.notes.push_back(fmt::format("the steps were not taken a second time: {}", failure.what()));
    }
  }
  const auto& further = sides.settings.lockstep_states;
  if (further.empty()) return;
  Replay replay;
  replay.snapshots_after = further;
  replay.last_step = std::max<std::int64_t>(1, *std::max_element(further.begin(), further.end()));
  const auto begun = replays.run({{"b-states", sides.expected.replayed(replay)}});
  for (const std::int64_t other : further) {
    const Lockstep judged = judge_from(sides, legitimate, begun.front().folder, other, replays).judged;
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
  Lockstep judged = judge_lockstep(batches, options);
  if (judged.word != LockstepWord::defect) return judged;
  const auto flips = flips_against(exact, {measured, expected});
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const auto found = flips.find(replay.first_step + static_cast<std::int64_t>(i));
    if (found != flips.end()) batches[i].flips = found->second;
  }
  return flips.empty() ? judged : judge_lockstep(batches, options);
}

}  // namespace reprobench
