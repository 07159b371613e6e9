#include "matrix/inquiry/comparison.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "matrix/inquiry/explain/explanation.hpp"
#include "matrix/inquiry/explain/known_defect_notes.hpp"
#include "matrix/inquiry/explain/later_steps.hpp"
#include "matrix/inquiry/explain/non_finite.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"
#include "matrix/verdict/metrics/skipped_updates.hpp"

namespace reprobench {
namespace {

// What a person needs of a SHA-256 to tell files apart.
std::string short_digest(const std::string& sha256) { return sha256.substr(0, 8); }

std::string own_file_text(const WorkloadRequest& workload, const OwnFileField& own) {
  return (workload.*own.sha256).empty() ? "of the model" : short_digest(workload.*own.sha256);
}

std::string workload_text(const CellRequest& request) {
  const WorkloadRequest& workload = request.workload;
  std::string text = fmt::format("{}/{}, {} steps of {}, {}", workload.model, workload.preset, workload.steps,
                                 workload.batch_size, precision_text(request));
  for (const OwnFileField& own : kOwnFiles) {
    if (!(workload.*own.sha256).empty()) text += fmt::format(", {} {}", own.name, short_digest(workload.*own.sha256));
  }
  return text;
}

// Why no number of the one may be held against the other; empty: nothing.
std::string not_comparable_because(const ComparedSide& measured, const ComparedSide& expected) {
  const CellRequest& a = measured.request;
  const CellRequest& b = expected.request;
  std::vector<std::string> fields;
  const auto differ = [&](std::string_view field, const auto& x, const auto& y) {
    if (x != y) fields.push_back(fmt::format("{} {} against {}", field, x, y));
  };
  differ("model", a.workload.model, b.workload.model);
  differ("preset", a.workload.preset, b.workload.preset);
  differ("steps", a.workload.steps, b.workload.steps);
  differ("batch_size", a.workload.batch_size, b.workload.batch_size);
  for (const OwnFileField& own : kOwnFiles) {
    differ(own.name, own_file_text(a.workload, own), own_file_text(b.workload, own));
  }
  differ("world_size", a.world_size, b.world_size);
  for (const Knob& knob : knobs()) {
    if (!knob.must_agree) continue;
    const std::string name(knob.name);
    differ(name, a.knobs.at(name), b.knobs.at(name));
  }
  if (!fields.empty()) return fmt::format("the workloads differ: {}", fmt::join(fields, ", "));
  if (digests_tensors(a.trace) != digests_tensors(b.trace)) {
    differ("trace level", to_string(a.trace), to_string(b.trace));
  }
  if (!fields.empty()) return fmt::format("the digests are of different levels: {}", fields.front());
  const std::string& ours = measured.attempt.lead().result->workload_digest;
  const std::string& theirs = expected.attempt.lead().result->workload_digest;
  if (ours != theirs) {
    return fmt::format("the workload digests differ: {} against {}; weights, data, order or loop are not the same",
                       ours, theirs);
  }
  const bool is_cut = non_finite_step(measured.attempt) || non_finite_step(expected.attempt);
  if (!is_cut && measured.attempt.lead().trace->steps.size() != expected.attempt.lead().trace->steps.size()) {
    return fmt::format("{} steps against {}", measured.attempt.lead().trace->steps.size(),
                       expected.attempt.lead().trace->steps.size());
  }
  return "";
}

// A stored cell by its slug; with its run where the other side is of another one.
std::string name_of(const ComparedSide& side, const ComparedSide& other) {
  if (!side.stored) return side.label;
  const bool is_one_run = other.stored && other.stored->run_id == side.stored->run_id;
  return is_one_run ? side.stored->slug : side.stored->run_id + ":" + side.stored->slug;
}

// The first two completed repeats whose bits differ; null: none do.
std::pair<const AttemptRecord*, const AttemptRecord*> differing_repeats(const std::vector<AttemptRecord>& repeats) {
  const AttemptRecord* first = nullptr;
  for (const AttemptRecord& repeat : repeats) {
    if (repeat.end != AttemptEnd::completed || !repeat.lead().result) continue;
    if (first == nullptr) first = &repeat;
    if (repeat.lead().result->chain != first->lead().result->chain) return {first, &repeat};
  }
  return {nullptr, nullptr};
}

// Which repeats of a stored cell did not end well, or have other bits than the first that did. Empty: none.
std::string repeats_problem(const ComparedSide& side, const std::string& name) {
  if (!side.stored) return "";
  const std::vector<AttemptRecord>& repeats = side.stored->repeats;
  const AttemptRecord* failed = nullptr;
  int completed = 0;
  for (const AttemptRecord& repeat : repeats) {
    if (repeat.end != AttemptEnd::completed || !repeat.lead().result) {
      if (failed == nullptr) failed = &repeat;
      continue;
    }
    ++completed;
  }
  std::string problem;
  if (completed < side.stored->repeats_due) {
    problem = fmt::format("of {} {} of {} repeats completed", name, completed, side.stored->repeats_due);
    if (failed != nullptr) {
      problem += fmt::format(", repeat {}: {}: {}", failed->repeat, to_string(failed->end), failed->detail);
    }
  }
  if (const auto [first, other] = differing_repeats(repeats); other != nullptr) {
    problem += fmt::format("{}{} does not repeat itself: repeat {} has other bits than repeat {}",
                           problem.empty() ? "" : "; ", name, other->repeat, first->repeat);
  }
  return problem;
}

// A run that is compared with itself or with a copy of it, under whatever name.
bool are_of_one_process(const ComparedSide& measured, const ComparedSide& expected) {
  if (!measured.stored || !expected.stored) return false;
  std::set<std::string_view> ours;
  for (const AttemptRecord& repeat : measured.stored->repeats) ours.insert(repeat.nonce);
  return std::ranges::any_of(expected.stored->repeats, [&](const AttemptRecord& repeat) {
    return !repeat.nonce.empty() && ours.contains(repeat.nonce);
  });
}

// What forbids to say `equal` of two sides whose compared steps are equal.
std::vector<std::string> reasons_against_equality(const CellComparison& comparison, const ComparedSide& measured,
                                                  const ComparedSide& expected) {
  std::vector<std::string> reasons{repeats_problem(measured, comparison.measured_name)};
  if (expected.label != measured.label) reasons.push_back(repeats_problem(expected, comparison.expected_name));
  for (const ComparedSide* side : {&measured, &expected}) {
    const bool is_said =
        side->stored && side->stored->only_repeats_differ && differing_repeats(side->stored->repeats).second != nullptr;
    if (side->stored && !is_said) reasons.push_back(side->stored->wrong_numbers);
    if (const std::string nothing = updated_nothing(side->attempt); !nothing.empty()) {
      reasons.push_back(fmt::format("{} of {}: nothing was trained", nothing,
                                    side == &measured ? comparison.measured_name : comparison.expected_name));
    }
  }
  if (are_of_one_process(measured, expected)) {
    reasons.emplace_back("both sides are what one and the same process left, which says nothing");
  }
  std::erase(reasons, "");
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  return reasons;
}

// "in all 3 repeats of both"; nothing of sides that were run to be compared.
std::string repeats_text(const ComparedSide& measured, const ComparedSide& expected) {
  if (!measured.stored || !expected.stored) return "";
  const auto ours = measured.stored->repeats.size();
  const auto theirs = expected.stored->repeats.size();
  if (ours != theirs) return fmt::format(", in {} repeats against {}", ours, theirs);
  return ours == 1 ? ", in the one repeat of both" : fmt::format(", in all {} repeats of both", ours);
}

std::string place_of(const Divergence& first, const Trace& ours, const Trace& theirs) {
  if (first.tensor.empty()) {
    const bool is_forgotten = (forgets_steps(ours) && tensors_of_step(ours, first.step) == nullptr) ||
                              (forgets_steps(theirs) && tensors_of_step(theirs, first.step) == nullptr);
    return fmt::format("step {}, its {}{}", first.step, first.role,
                       is_forgotten ? ", whose tensors are not on record at `trace: recent`" : "");
  }
  return fmt::format("step {}, {} `{}`", first.step, first.role, first.tensor);
}

std::string difference_sentence(const CellComparison& comparison, const std::string& place, const std::string& skip) {
  const Divergence& first = *comparison.trace.first;
  std::string sentence = first.step > 1
                             ? fmt::format("equal bits up to step {}; first difference in {}", first.step - 1, place)
                             : fmt::format("bits differ from {}", place);
  if (!skip.empty()) sentence += "; " + skip;
  if (comparison.non_finite) sentence += "; " + comparison.non_finite->sentence;
  return sentence;
}

// "forward of `fc1`"; with the step if it is another than the one in which bits differ first.
std::string call_place(const OperatorRecord& call, std::int64_t first_step) {
  return fmt::format("{} of `{}`{}", call.pass, call.module.empty() ? "no module" : call.module,
                     call.step == first_step ? "" : fmt::format(", step {}", call.step));
}

std::string explanation_sentence(const Explanation& explained, std::int64_t first_step) {
  std::string sentence = "; no operator made it";
  if (explained.call) {
    const OperatorRecord& call = explained.call->measured;
    sentence = fmt::format("; {} ({}) made it out of equal inputs", call.name, call_place(call, first_step));
  } else if (explained.region) {
    const auto& [measured, expected] = std::tie(explained.region->measured, explained.region->expected);
    const OperatorRecord& call = (measured.calls.empty() ? expected : measured).calls.front();
    sentence = fmt::format("; the sides take different operators: {} against {} ({}) made it out of equal values",
                           names_of(measured), names_of(expected), call_place(call, first_step));
  }
  if (explained.diagnosis) {
    sentence += fmt::format("; {}: {}", to_string(explained.diagnosis->word), explained.diagnosis->sentence);
  } else if (explained.lockstep) {
    sentence += fmt::format("; against fp64: {}", to_string(explained.lockstep->word));
  }
  if (!explained.suspect.component.empty()) sentence += fmt::format("; suspect: {}", explained.suspect.component);
  return sentence;
}

// The rank whose trace differs first; the first rank if none does.
std::size_t rank_that_differs_first(const AttemptRecord& measured, const AttemptRecord& expected,
                                    TraceComparison& comparison) {
  std::size_t first = 0;
  for (std::size_t rank = 0; rank < std::min(measured.ranks.size(), expected.ranks.size()); ++rank) {
    TraceComparison of_rank = compare_traces(*measured.ranks[rank].trace, *expected.ranks[rank].trace);
    const bool is_earlier = of_rank.first && (!comparison.first || of_rank.first->step < comparison.first->step);
    if (rank > 0 && !is_earlier) continue;
    comparison = std::move(of_rank);
    first = rank;
  }
  return first;
}

// What the traces show beside the first difference.
void describe_difference(CellComparison& comparison, const ComparedSide& measured, const Trace& ours,
                         const Trace& theirs) {
  DivergenceStrip strip = divergence_strip(ours, theirs, comparison.trace.first->step);
  if (!strip.rows.empty()) comparison.strip = std::move(strip);
  comparison.events = event_flips(ours, theirs);
  comparison.split = loss_split(ours, theirs);
  comparison.over_bound = first_over_bound(ours, theirs, precision_text(measured.request));
}

// The one that fails first; of both in one step the measured one.
std::optional<NonFinite> non_finite_side(const ComparedSide& measured, const ComparedSide& expected) {
  const auto ours = non_finite_step(measured.attempt);
  const auto theirs = non_finite_step(expected.attempt);
  if (!ours && !theirs) return std::nullopt;
  const bool is_measured = ours && (!theirs || *ours <= *theirs);
  const std::int64_t step = is_measured ? *ours : *theirs;
  return NonFinite{
      is_measured, step,
      fmt::format("the loss of {} is not finite at step {}", (is_measured ? measured : expected).label, step)};
}

}  // namespace

void answer(CellComparison& comparison, const std::string& part, const std::function<void()>& question) {
  try {
    question();
  } catch (const ReplayFailed& error) {
    comparison.unanswered.push_back(fmt::format("{}: {}", part, error.what()));
    comparison.sentence += fmt::format("; not answered: {}", comparison.unanswered.back());
  }
}

CellComparison compare_cells(const ComparedSide& measured, const ComparedSide& expected,
                             const ExplainSettings& settings, Replays& replays) {
  CellComparison comparison;
  comparison.measured = measured.label;
  comparison.expected = expected.label;
  comparison.measured_name = name_of(measured, expected);
  comparison.expected_name = name_of(expected, measured);
  comparison.workload = workload_text(measured.request);
  for (const ComparedSide* side : {&measured, &expected}) {
    if (side->missing.empty()) continue;
    comparison.sentence += fmt::format("{}{} {}", comparison.sentence.empty() ? "nothing to compare: " : "; ",
                                       name_of(*side, side == &measured ? expected : measured), side->missing);
  }
  if (!comparison.sentence.empty()) return comparison;
  comparison.differences = side_differences(measured.request, *measured.attempt.lead().result, expected.request,
                                            *expected.attempt.lead().result);
  comparison.implementations = implementation_changes(*measured.attempt.lead().result, *expected.attempt.lead().result);
  const std::string reason = not_comparable_because(measured, expected);
  if (!reason.empty()) {
    comparison.word = Match::not_comparable;
    comparison.sentence = reason;
    return comparison;
  }
  comparison.non_finite = non_finite_side(measured, expected);
  const std::size_t rank = rank_that_differs_first(measured.attempt, expected.attempt, comparison.trace);
  const Trace& ours = *measured.attempt.ranks[rank].trace;
  const Trace& theirs = *expected.attempt.ranks[rank].trace;
  std::vector<std::string>& doubts = comparison.doubts;
  doubts = reasons_against_equality(comparison, measured, expected);
  if (!comparison.trace.first && comparison.non_finite) doubts.insert(doubts.begin(), comparison.non_finite->sentence);
  if (!comparison.trace.first) {
    comparison.word = doubts.empty() ? Match::equal : Match::not_comparable;
    comparison.sentence =
        doubts.empty()
            ? fmt::format("equal bits in all that {} steps digested{}", comparison.trace.steps_compared,
                          repeats_text(measured, expected))
            : fmt::format("equal bits in {} steps, but {}", comparison.trace.steps_compared, fmt::join(doubts, "; "));
    return comparison;
  }
  comparison.word = Match::differs;
  describe_difference(comparison, measured, ours, theirs);
  const std::string on_rank = measured.attempt.ranks.size() > 1 ? fmt::format(" on rank {}", rank) : "";
  comparison.sentence =
      difference_sentence(comparison, place_of(*comparison.trace.first, ours, theirs) + on_rank,
                          other_skip_text(ours, theirs, comparison.measured_name, comparison.expected_name));
  if (measured.stored && expected.stored) {
    comparison.sentence +=
        fmt::format("; repeat {} against repeat {}", measured.attempt.repeat, expected.attempt.repeat);
  }
  for (const std::string& doubt : doubts) comparison.sentence += "; " + doubt;
  if (!settings.explain) return comparison;
  if (comparison.non_finite) {
    const bool is_measured = comparison.non_finite->is_measured;
    answer(comparison, "origin of what is not finite", [&] {
      const std::string origin = non_finite_sentence(
          is_measured ? measured : expected, is_measured ? expected : measured, comparison.non_finite->step, replays);
      comparison.non_finite->sentence += "; " + origin;
      comparison.sentence += "; " + origin;
    });
  }
  // A replay up to a step that fails cannot be held against one that does not.
  if (comparison.non_finite && comparison.trace.first->step >= comparison.non_finite->step) return comparison;
  answer(comparison, "explanation", [&] {
    comparison.explanation =
        explain_difference(measured, expected, *comparison.trace.first, comparison.differences, settings, replays);
    if (settings.later_steps > 0) {
      comparison.explanation->later_steps = later_courses(ours, theirs, comparison.trace.first->step);
      judge_later_steps(measured, expected, later_steps(comparison, settings.later_steps), replays,
                        *comparison.explanation);
    }
    if (settings.facts) note_known_defects(measured, expected, *settings.facts, *comparison.explanation);
    comparison.sentence += explanation_sentence(*comparison.explanation, comparison.trace.first->step);
  });
  return comparison;
}

}  // namespace reprobench
