#include "matrix/inquiry/pair_inquiry.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "matrix/inquiry/cell_ratios.hpp"
#include "matrix/inquiry/ensemble.hpp"
#include "matrix/inquiry/one_process.hpp"
#include "matrix/numerics/steps/loss_distance.hpp"

namespace reprobench {
namespace {

// A replay needs the devices of both sides here; a merged run also holds cells of devices that other hosts have.
std::string missing_device(const SidePair& pair, const std::set<std::string>& devices) {
  for (const ComparedSide* side : {&pair.first, &pair.second}) {
    if (devices.count(side->request.device) == 0) return side->request.device;
  }
  return "";
}

bool is_of_one_workload(const ComparedSide& measured, const ComparedSide& expected) {
  const auto& ours = measured.attempt.lead().result;
  const auto& theirs = expected.attempt.lead().result;
  return ours && theirs && ours->workload_digest == theirs->workload_digest;
}

// No step against fp64 holds a loss.
void hold_losses(CellComparison& comparison, const SidePair& pair) {
  const auto& [measured, expected] = pair;
  const std::optional<Trace>& ours = measured.attempt.lead().trace;
  const std::optional<Trace>& theirs = expected.attempt.lead().trace;
  const bool is_tf32 =
      setting_in<&Settings::tf32>(measured.request.knobs) || setting_in<&Settings::tf32>(expected.request.knobs);
  const std::string of_cell = precision_text(measured.request);
  const std::string precision = is_tf32 && of_cell == "fp32" ? "tf32" : of_cell;
  if (!ours || !theirs || of_cell != precision_text(expected.request)) return;
  const auto apart = first_loss_apart(*ours, *theirs, precision);
  if (!apart) return;
  comparison.losses_apart = fmt::format(
      "the losses of step {} are {:.2g} apart, and {:.2g} is what rounding and the weights before it explain",
      apart->step, apart->distance_rel, apart->bound_rel);
  comparison.sentence = comparison.losses_apart + "; " + comparison.sentence;
}

// How the two courses lie beside those that rounding alone takes.
void ask_of_courses(CellComparison& comparison, const SidePair& pair, const PairQuestions& questions, Replays& replays,
                    const Announce& announce) {
  hold_losses(comparison, pair);
  if (questions.trajectory) {
    answer(comparison, "trajectory", [&] {
      const auto around = envelope_around(pair.second, questions.members, false, questions.store, replays, announce);
      comparison.trajectory =
          judge_trajectory(*pair.first.attempt.lead().trace, *pair.second.attempt.lead().trace, around.envelope);
    });
  }
  if (questions.seeds > 0) {
    answer(comparison, "loss curves",
           [&] { comparison.equivalence = equivalence_of_stacks(pair, questions.seeds, replays); });
  }
}

// A replay is one process. If that has the bits of the ranks, what it says of the difference is the answer.
void inquire_in_one_process(CellComparison& comparison, const SidePair& shared, const PairQuestions& questions,
                            Replays& replays, const Announce& announce) {
  answer(comparison, "the same in one process", [&] {
    OneProcess one = train_in_one_process(shared, replays);
    comparison.one_process = one.judgement;
    comparison.sentence += "; " + one.judgement.sentence;
    if (one.judgement.word != Match::equal) return;
    ExplainSettings settings = questions.explain;
    settings.bounds_store = questions.store;
    CellComparison answered = compare_cells(one.sides.first, one.sides.second, settings, replays);
    if (answered.word != Match::differs) {
      comparison.unanswered.push_back("in one process " + answered.sentence);
      comparison.sentence += "; not answered: " + comparison.unanswered.back();
      return;
    }
    answered.ratios = std::move(comparison.ratios);
    answered.one_process = std::move(comparison.one_process);
    answered.sentence = comparison.sentence + "; there, " + answered.sentence;
    comparison = std::move(answered);
    ask_of_courses(comparison, one.sides, questions, replays, announce);
  });
}

}  // namespace

CellComparison inquire(SidePair& pair, const PairQuestions& questions, Replays& replays, const Announce& announce) {
  take_differing_repeats(pair);
  ComparedSide& measured = pair.first;  // not bound together: Clang before 16 takes no such name into a lambda
  ComparedSide& expected = pair.second;
  read_trace_of(measured);
  read_trace_of(expected);
  const std::string missing = missing_device(pair, questions.devices);
  const bool is_shared = is_shared_out(measured.request) || is_shared_out(expected.request);
  ExplainSettings settings = questions.explain;
  settings.bounds_store = questions.store;
  if (!missing.empty() || is_shared) settings.explain = false;
  CellComparison comparison = compare_cells(measured, expected, settings, replays);
  if (is_of_one_workload(measured, expected)) comparison.ratios = cell_ratios(measured, expected);
  if (comparison.word != Match::differs) return comparison;
  if (!missing.empty()) {
    if (questions.explain.explain) comparison.sentence += "; not replayed: this host has no " + missing;
    return comparison;
  }
  if (is_shared) {
    const bool asks_more = questions.explain.explain || questions.trajectory || questions.seeds > 0;
    if (asks_more) inquire_in_one_process(comparison, pair, questions, replays, announce);
    return comparison;
  }
  ask_of_courses(comparison, pair, questions, replays, announce);
  return comparison;
}

Match judged_by_replays(const CellComparison& comparison, FailOn what) {
  if (comparison.word != Match::differs || what == FailOn::any) return comparison.word;
  if (comparison.non_finite || !comparison.losses_apart.empty()) return Match::differs;
  if (comparison.one_process && comparison.one_process->word != Match::equal) return comparison.one_process->word;
  const auto& explained = comparison.explanation;
  if (!explained || !explained->lockstep) return Match::not_comparable;
  // Without a diagnosis no call made the difference. Then nothing rounded, and steps that compute alike excuse nothing.
  const ExplainedWord word = explained->diagnosis ? explained->diagnosis->word : ExplainedWord::undecided;
  const bool is_defect = word == ExplainedWord::defect || explained->lockstep->word == LockstepWord::defect;
  const bool is_other = word == ExplainedWord::another_computation;
  if (is_defect || (is_other && what == FailOn::another_computation)) return Match::differs;
  const bool is_harmless =
      word == ExplainedWord::rounding || (is_other && explained->lockstep->word == LockstepWord::rounding);
  return is_harmless && comparison.doubts.empty() ? Match::equal : Match::not_comparable;
}

Match judged_by(const CellComparison& comparison, FailOn what) {
  const Match judged = judged_by_replays(comparison, what);
  if (judged != Match::equal || comparison.word == Match::equal) return judged;
  const auto& [trajectory, curves] = std::tie(comparison.trajectory, comparison.equivalence);
  if (trajectory && trajectory->word == "outside") return Match::differs;
  const bool is_open =
      !comparison.unanswered.empty() || (trajectory && trajectory->word != "within") || (curves && !curves->equivalent);
  return is_open ? Match::not_comparable : judged;
}

Match overall_word(const std::vector<CellComparison>& comparisons, const StoredPairs& found, FailOn what) {
  Match word = found.without_partner.empty() ? Match::equal : Match::not_comparable;
  for (const CellComparison& comparison : comparisons) word = overall(word, judged_by(comparison, what));
  return word;
}

std::string count_text(const std::vector<CellComparison>& comparisons, const StoredPairs& found) {
  const auto count = [&](Match word) {
    return std::count_if(comparisons.begin(), comparisons.end(),
                         [&](const CellComparison& comparison) { return comparison.word == word; });
  };
  std::string text = fmt::format("{} pair{} compared: {} equal", comparisons.size(), comparisons.size() == 1 ? "" : "s",
                                 count(Match::equal));
  if (const auto differing = count(Match::differs)) text += fmt::format(", {} differ", differing);
  if (const auto open = count(Match::not_comparable)) text += fmt::format(", {} not comparable", open);
  if (!found.without_partner.empty()) {
    text +=
        fmt::format("; {} without a partner: {}", found.without_partner.size(), fmt::join(found.without_partner, ", "));
  }
  // They stand with their pair; who reads the last line alone would take `equal` for all that was compared.
  std::ptrdiff_t worse = 0;
  for (const CellComparison& comparison : comparisons) {
    worse += std::ranges::count(comparison.ratios, CheckStatus::failed, &CellRatio::status);
  }
  if (worse > 0) {
    text += fmt::format("; {} bound{} on speed or memory {} not hold, which is no part of the exit code", worse,
                        worse == 1 ? "" : "s", worse == 1 ? "does" : "do");
  }
  if (found.skipped > 0) text += fmt::format("; {} skipped", found.skipped);
  if (found.probes > 0) text += fmt::format("; {} of probes, judged by checks alone", found.probes);
  return text;
}

}  // namespace reprobench
