#include "matrix/inquiry/one_process.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/verdict/metrics/layout_metrics.hpp"

namespace reprobench {
namespace {

std::string parts_text(const CellRequest& request) {
  return request.world_size > 1 ? fmt::format("{} ranks", request.world_size)
                                : fmt::format("{} replicas", setting_in<&Settings::replicas>(request.knobs));
}

CellEvidence evidence_of(const ComparedSide& side, const std::string& name) {
  CellEvidence evidence;
  evidence.slug = name;
  evidence.device = side.request.device;
  evidence.repeats = {side.attempt};
  return evidence;
}

// Of the bits of a side's ranks beside those of its one process.
struct Found {
  Match word = Match::not_comparable;
  std::string sentence;
};

Found bits_of(const ComparedSide& shared, const ComparedSide& alone, const char* side) {
  const std::string trained = fmt::format("what {} of the {} side train", parts_text(shared.request), side);
  const CellEvidence in_one = evidence_of(alone, "one process");
  const Measurement found = differing_from_one_rank(evidence_of(shared, shared.label), &in_one);
  if (!found.value) return {Match::not_comparable, fmt::format("{} cannot be compared: {}", trained, found.missing)};
  if (*found.value == 0) return {Match::equal, ""};
  const CheckDivergence& first = *found.divergence;
  return {Match::differs,
          fmt::format("{} {}, in step {} {} `{}`", trained, found.statement, first.step, first.role, first.tensor)};
}

OneProcessJudgement judged(const SidePair& shared, const SidePair& alone) {
  const Found measured = bits_of(shared.first, alone.first, "measured");
  const Found expected = bits_of(shared.second, alone.second, "expected");
  const std::int64_t micro_batches = micro_batches_of(shared.first.request);
  if (measured.word == Match::equal && expected.word == Match::equal) {
    return {Match::equal, fmt::format("one process that does all {} micro-batches has the bits of the {} on both sides",
                                      micro_batches, parts_text(shared.first.request))};
  }
  if (measured.word == Match::differs && expected.word == Match::equal) return {Match::differs, measured.sentence};
  const std::string between = measured.sentence.empty() || expected.sentence.empty() ? "" : "; ";
  return {Match::not_comparable, measured.sentence + between + expected.sentence};
}

// Every step, bit for bit.
bool has_losses_of(const AttemptRecord& again, const AttemptRecord& recorded) {
  return std::ranges::equal(again.lead().trace->steps, recorded.lead().trace->steps, {}, &StepRecord::loss,
                            &StepRecord::loss);
}

}  // namespace

bool is_shared_out(const CellRequest& request) {
  return request.world_size > 1 || setting_in<&Settings::replicas>(request.knobs) > 1;
}

CellRequest in_one_process(CellRequest request) {
  const std::int64_t micro_batches = micro_batches_of(request);
  if (request.world_size > 1) request.inject.reset();
  request.world_size = 1;
  request.workload.resume_after = 0;
  request.trace = TraceLevel::tensor;
  for (const Knob& knob : knobs()) {
    if (knob.shares_out == SharesOut::nothing) continue;
    request.knobs[std::string(knob.name)] = knob.default_value;
  }
  set<&Settings::accumulate>(request.knobs, micro_batches);
  return request;
}

OneProcess train_in_one_process(const SidePair& shared, Replays& replays) {
  std::vector<ReplayTask> tasks;
  for (const ComparedSide* side : {&shared.first, &shared.second}) {
    const char* name = side == &shared.first ? "a" : "b";
    tasks.push_back({fmt::format("{}-one-process", name), in_one_process(side->request)});
    if (side->request.trace == TraceLevel::tensor) continue;
    tasks.push_back({fmt::format("{}-every-tensor", name), side->request});
    tasks.back().request.trace = TraceLevel::tensor;
  }
  auto outcomes = replays.run(tasks);
  OneProcess found{shared, {}};
  SidePair traced = shared;
  std::string other_losses;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const bool is_measured = tasks[i].purpose.starts_with("a-");
    const bool is_alone = tasks[i].purpose.ends_with("-one-process");
    SidePair& pair = is_alone ? found.sides : traced;
    ComparedSide& side = is_measured ? pair.first : pair.second;
    if (!is_alone && !has_losses_of(outcomes[i].attempt, side.attempt)) other_losses = side.label;
    side.request = tasks[i].request;
    side.attempt = std::move(outcomes[i].attempt);
    side.folder = outcomes[i].folder;
  }
  found.judgement = other_losses.empty()
                        ? judged(traced, found.sides)
                        : OneProcessJudgement{Match::not_comparable,
                                              other_losses + " has other losses once every tensor is on record"};
  return found;
}

}  // namespace reprobench
