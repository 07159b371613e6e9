#include "matrix/inquiry/run_diagnosis.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {
namespace {

bool is_asked(const SharedList<CellThreshold>& thresholds) {
  return std::ranges::any_of(thresholds, [](const CellThreshold& threshold) {
    return threshold.gate == Gate::armed && threshold.metric == kBeyondRounding;
  });
}

// Of all ranks; empty: an attempt that did not come to a result.
std::vector<std::string> chains_of(const AttemptRecord& attempt) {
  std::vector<std::string> chains;
  for (const RankRecord& rank : attempt.ranks) {
    if (!rank.result) return {};
    chains.push_back(rank.result->chain);
  }
  return chains;
}

bool differ_anywhere(const std::vector<AttemptRecord>& ours, const std::vector<AttemptRecord>& theirs) {
  return std::ranges::any_of(ours, [&](const AttemptRecord& our) {
    return std::ranges::any_of(theirs, [&](const AttemptRecord& their) { return chains_of(our) != chains_of(their); });
  });
}

// The word is said before the sentence, which need not say it again.
CellDiagnosis named_of(const SidePair& pair, ExplainedWord word, std::string sentence) {
  const std::string again = fmt::format("; {}: ", to_string(word));
  if (const std::size_t at = sentence.find(again); at != std::string::npos) sentence.replace(at, again.size(), "; ");
  return {pair.first.request.cell_id, pair.second.request.cell_id, word, std::move(sentence)};
}

// Masks are on record where every tensor is.
bool has_trajectory(const SidePair& pair) {
  const auto& [ours, theirs] = pair;
  return ours.request.trace == TraceLevel::tensor && theirs.request.trace == TraceLevel::tensor &&
         ours.request.workload.steps > 1;
}

DiagnosedCell ask(SidePair& pair, const RunDiagnosisSettings& settings, Replays& replays, const Announce& announce) {
  if (settings.spent() >= settings.budget) {
    return {named_of(pair, ExplainedWord::undecided,
                     fmt::format("not asked: {} s for diagnoses were spent (--diagnose-for)",
                                 std::chrono::duration_cast<std::chrono::seconds>(settings.budget).count())),
            std::nullopt};
  }
  PairQuestions questions = settings.questions;
  questions.explain.explain = true;
  questions.explain.later_steps = kUsualLaterSteps;
  questions.trajectory = has_trajectory(pair);
  // A pair that cannot be asked costs its own cell the answer, and not the run its verdict.
  try {
    CellComparison comparison = inquire(pair, questions, replays, announce);
    return {diagnosis_of(comparison, pair), std::move(comparison)};
  } catch (const ReplayInterrupted&) {
    throw;
  } catch (const std::exception& error) {
    return {named_of(pair, ExplainedWord::undecided, error.what()), std::nullopt};
  }
}

}  // namespace

bool has_difference_to_diagnose(const RunRecord& run) {
  std::map<std::string, const CellRecord*> records;
  for (const CellRecord& record : run.cells) records.emplace(record.cell_id, &record);
  return std::ranges::any_of(run.plan.cells, [&](const PlannedCell& planned) {
    const Cell& cell = planned.cell;
    if (planned.skip || cell.request.workload.is_probe() || !is_asked(cell.thresholds)) return false;
    const auto ours = records.find(cell.request.cell_id);
    const auto theirs = records.find(cell.reference_cell_id.value_or(""));
    return ours != records.end() && theirs != records.end() &&
           differ_anywhere(ours->second->attempts, theirs->second->attempts);
  });
}

std::vector<SidePair> pairs_to_diagnose(StoredPairs found) {
  std::vector<SidePair> asked;
  for (SidePair& pair : found.pairs) {
    const auto& [ours, theirs] = pair;
    const bool is_whole = ours.missing.empty() && theirs.missing.empty();
    if (is_whole && is_asked(ours.stored->thresholds) &&
        differ_anywhere(ours.stored->repeats, theirs.stored->repeats)) {
      asked.push_back(std::move(pair));
    }
  }
  std::ranges::stable_sort(asked, [](const SidePair& a, const SidePair& b) {
    const auto weight = [](const SidePair& pair) {
      const CellRequest& request = pair.first.request;
      return std::pair(digests_tensors(request.trace), request.workload.steps);
    };
    return weight(a) > weight(b);
  });
  return asked;
}

CellDiagnosis diagnosis_of(const CellComparison& comparison, const SidePair& pair) {
  const auto say = [&](ExplainedWord word, std::string sentence) { return named_of(pair, word, std::move(sentence)); };
  const Match judged = judged_by_replays(comparison, FailOn::another_computation);
  if (judged == Match::differs) {
    const auto& explained = comparison.explanation;
    const bool is_of_steps = explained && explained->diagnosis && explained->diagnosis->word != ExplainedWord::defect &&
                             explained->lockstep && explained->lockstep->word == LockstepWord::defect;
    if (is_of_steps) return say(ExplainedWord::defect, "the steps against fp64 show a defect; " + comparison.sentence);
    const bool is_named =
        explained && explained->diagnosis && explained->diagnosis->word == ExplainedWord::another_computation;
    return say(is_named ? ExplainedWord::another_computation : ExplainedWord::defect, comparison.sentence);
  }
  const auto& trajectory = comparison.trajectory;
  if (trajectory && trajectory->word == "outside") {
    return say(ExplainedWord::defect, trajectory->sentence + "; " + comparison.sentence);
  }
  const std::string how_far = trajectory ? "; " + trajectory->sentence : "";
  const bool is_open = !comparison.unanswered.empty() || (trajectory && trajectory->word != "within");
  if (comparison.word != Match::differs || judged != Match::equal || is_open) {
    return say(ExplainedWord::undecided, comparison.sentence + how_far);
  }
  return say(ExplainedWord::rounding, comparison.sentence + how_far);
}

void diagnose(std::vector<SidePair> pairs, const RunDiagnosisSettings& settings, Replays& replays,
              const Announce& announce, const std::function<void(const DiagnosedCell&)>& told) {
  std::size_t asked = 0;
  for (SidePair& pair : pairs) {
    announce(fmt::format("[{}/{}] differs  {}  finding out what the difference is", ++asked, pairs.size(),
                         pair.first.stored->slug));
    told(ask(pair, settings, replays, announce));
    pair = {};  // traces are large
  }
}

}  // namespace reprobench
