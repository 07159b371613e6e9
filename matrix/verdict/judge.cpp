#include "matrix/verdict/judge.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "matrix/record/run_directory.hpp"
#include "matrix/verdict/check.hpp"
#include "matrix/verdict/environment.hpp"
#include "matrix/verdict/implementation_notes.hpp"
#include "matrix/verdict/link_notes.hpp"
#include "matrix/verdict/loaded_libraries.hpp"
#include "matrix/verdict/metrics/skipped_updates.hpp"
#include "matrix/verdict/next_step.hpp"
#include "matrix/verdict/opposite_cells.hpp"
#include "matrix/verdict/own_file_notes.hpp"
#include "matrix/verdict/recorded_cells.hpp"
#include "matrix/verdict/summary.hpp"

namespace reprobench {
namespace {

std::string injected_text(const Cell& cell, int repeat) {
  const auto found = cell.injections.find(repeat);
  if (found == cell.injections.end()) return "";
  const Injection& injection = found->second;
  std::string fault = fmt::format("{} at step {}", injection.kind, injection.step);
  if (cell.request.world_size > 1) fault += fmt::format(" of rank {}", injection.rank);
  return injection.tensor.empty() ? fault : fmt::format("{}, {}[{}]", fault, injection.tensor, injection.element);
}

// Ranks run side by side: an attempt takes as long as its longest.
std::optional<std::int64_t> duration_of(const AttemptRecord& attempt) {
  std::optional<std::int64_t> longest;
  for (const RankRecord& rank : attempt.ranks) {
    if (rank.exit) longest = std::max(longest.value_or(0), rank.exit->duration_ns);
  }
  for (const SegmentRecord& segment : attempt.segments) {  // one after the other
    if (longest && segment.ranks.front().exit) *longest += segment.ranks.front().exit->duration_ns;
  }
  return longest;
}

// Of every process, in order: what they leave at the end of their training.
std::vector<std::string> chains_of(const AttemptRecord& attempt) {
  std::vector<std::string> chains;
  const auto add = [&](const std::vector<RankRecord>& ranks) {
    for (const RankRecord& rank : ranks) chains.push_back(rank.result ? rank.result->chain : "");
  };
  for (const SegmentRecord& segment : attempt.segments) add(segment.ranks);
  add(attempt.ranks);
  return chains;
}

// An attempt that completed is made again where its partner of the reference was lost, or its times were disturbed.
// That excuses times and no bits.
std::optional<Ended> replaced_by_other_bits(const Cell& cell, const CellRecord& record,
                                            const std::vector<const AttemptRecord*>& repeats) {
  if (setting_in<&Settings::determinism>(cell.request.knobs) != Determinism::strict) return std::nullopt;
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.end != AttemptEnd::completed || attempt.ranks.empty() || !attempt.lead().result) continue;
    const auto counts =
        std::ranges::find(repeats, attempt.repeat, [](const AttemptRecord* last) { return last->repeat; });
    if (counts == repeats.end() || *counts == &attempt || chains_of(**counts) == chains_of(attempt)) continue;
    return Ended{Outcome::inconclusive, "replaced_bits",
                 fmt::format("repeat {} completed with other bits before it was made again (attempt {})",
                             attempt.repeat, attempt.attempt),
                 attempt.repeat};
  }
  return std::nullopt;
}

class Judge {
 public:
  explicit Judge(const RunRecord& run) : run_(run), cells_(run), opposites_(cells_) {}

  CellVerdict judge_cell(const PlannedCell& planned) {
    CellVerdict verdict = described(planned);
    if (planned.skip) {
      verdict.outcome = Outcome::skipped;
      verdict.reason = planned.skip->rule;
      verdict.sentence = planned.skip->reason;
      return verdict;
    }
    const CellRecord* record = cells_.record(planned.cell.request.cell_id);
    if (record == nullptr) {
      return conclude(verdict, {Outcome::unfinished, "not_started", "the run has no record of this cell"});
    }
    summarise_attempts(planned.cell, *record, verdict);
    note_links(planned.cell, verdict);
    const auto repeats = last_attempts(planned.cell, *record);
    note_own_files(planned.cell, repeats, verdict);
    const auto early = cells_.ended_early(planned.cell, repeats);
    if (early) {
      for (const CellThreshold& threshold : planned.cell.thresholds) {
        verdict.checks.push_back(undecided(threshold, "incomplete_repeats", early->sentence));
      }
      return conclude(verdict, *early);
    }
    note_implementations(planned.cell, *repeats.front()->lead().result, verdict);
    verdict.chain = repeats.front()->lead().result->chain;
    const auto workload_digest = common_workload_digest(repeats);
    if (!workload_digest) {
      return conclude(verdict, {Outcome::inconclusive, "not_comparable",
                                "the repeats of this cell did not run the same workload: their digests differ"});
    }
    verdict.workload_digest = *workload_digest;
    const std::shared_ptr<const CellEvidence> read = cells_.evidence_of(planned.cell);
    const CellEvidence& evidence = *read;
    for (const AttemptRecord& attempt : evidence.repeats) {
      for (const ProbeMeasurement& measurement : attempt.lead().result->measurements) {
        verdict.measurements.push_back({attempt.repeat, measurement});
      }
    }
    evaluate_checks(planned.cell, evidence, verdict);
    for (const Gap& gap : planned.cell.gaps) verdict.checks.push_back(unanswered(gap));
    if (auto found = non_finite_loss(evidence)) return failed_by(verdict, std::move(*found), "non_finite_loss");
    if (auto found = non_finite_tensor(evidence)) return failed_by(verdict, std::move(*found), "non_finite_tensor");
    if (auto idle = no_updates(evidence)) {
      const bool is_known = idle->status == CheckStatus::failed;
      Ended ended{Outcome::failed, "nothing_updated", idle->sentence, idle->repeat};
      verdict.checks.push_back(std::move(*idle));
      if (is_known) return conclude(verdict, std::move(ended));
    }
    Ended ended = from_checks(verdict.checks);
    if (auto apart = ranks_apart(evidence)) {
      const Ended failed{Outcome::failed, "ranks_apart", apart->sentence, apart->repeat};
      verdict.checks.push_back(std::move(*apart));
      if (ended.outcome != Outcome::failed) ended = failed;  // a check that was asked for knows more
    }
    if (ended.outcome != Outcome::failed) {
      if (auto replaced = replaced_by_other_bits(planned.cell, *record, repeats)) ended = std::move(*replaced);
      if (auto other = of_another_stack(planned.cell, repeats)) ended = std::move(*other);
    }
    return conclude(verdict, std::move(ended));
  }

 private:
  static CellVerdict conclude(CellVerdict& verdict, Ended ended) {
    verdict.outcome = ended.outcome;
    verdict.reason = ended.metric.empty() ? std::string(ended.reason) : std::move(ended.metric);
    verdict.sentence = std::move(ended.sentence);
    for (const AttemptSummary& attempt : verdict.attempts) {
      if (!ended.repeat || attempt.repeat == *ended.repeat) verdict.log_folder = attempt.folder;
    }
    return std::move(verdict);
  }

  // By a check that no matrix can disarm.
  static CellVerdict failed_by(CellVerdict& verdict, CheckResult check, Reason reason) {
    Ended ended{Outcome::failed, reason, check.sentence, check.repeat};
    verdict.checks.push_back(std::move(check));
    return conclude(verdict, std::move(ended));
  }

  CellVerdict described(const PlannedCell& planned) const {
    CellVerdict verdict;
    verdict.cell_id = planned.cell.request.cell_id;
    verdict.slug = planned.cell.slug;
    verdict.coordinates = planned.cell.coordinates;
    verdict.required = planned.cell.required;
    verdict.reference_cell_id = planned.cell.reference_cell_id;
    verdict.notes = planned.notes;
    verdict.reproduce =
        fmt::format("reprobench run --matrix {} --cell {}", run_.plan.matrix_file, name_without_host(verdict.cell_id));
    for (const std::string& option : run_.plan.request.overrides) verdict.reproduce += " " + option;
    return verdict;
  }

  static void note_own_files(const Cell& cell, const std::vector<const AttemptRecord*>& repeats, CellVerdict& verdict) {
    const auto told = std::ranges::find_if(repeats, [](const AttemptRecord* attempt) {
      return attempt != nullptr && attempt->lead().result &&
             (attempt->lead().result->data || attempt->lead().result->weights);
    });
    const CellResult* result = told == repeats.end() ? nullptr : &*(*told)->lead().result;
    for (std::string& note : own_file_notes(cell.request.workload, result)) verdict.notes.push_back(std::move(note));
  }

  void summarise_attempts(const Cell& cell, const CellRecord& record, CellVerdict& verdict) const {
    for (const AttemptRecord& attempt : record.attempts) {
      verdict.attempts.push_back({attempt.repeat, attempt.attempt, attempt.end, attempt.detail, attempt.folder,
                                  attempt.lead().result ? attempt.lead().result->chain : "",
                                  injected_text(cell, attempt.repeat),
                                  attempt.telemetry ? std::optional(report_of(*attempt.telemetry)) : std::nullopt,
                                  duration_of(attempt), cells_.links_of(cell, attempt)});
    }
  }

  void note_links(const Cell& cell, CellVerdict& verdict) const {
    std::vector<NamedLinks> all;
    for (const AttemptSummary& attempt : verdict.attempts) {
      all.push_back({fmt::format("repeat {}", attempt.repeat), attempt.links});
    }
    if (const auto reference = cells_.reference_of(cell)) {
      for (const AttemptRecord& attempt : reference->record.attempts) {
        all.push_back({fmt::format("the reference's repeat {}", attempt.repeat),
                       cells_.links_of(reference->planned.cell, attempt)});
      }
    }
    for (std::string& note : link_notes(all)) verdict.notes.push_back(std::move(note));
  }

  // Of the first repeat of either: what computed a workload depends on the machine and its stack.
  void note_implementations(const Cell& cell, const CellResult& result, CellVerdict& verdict) const {
    const auto reference = cells_.reference_of(cell);
    if (!reference) return;
    const std::vector<const AttemptRecord*> repeats = last_attempts(reference->planned.cell, reference->record);
    if (repeats.empty() || repeats.front() == nullptr || !repeats.front()->lead().result) return;
    for (std::string& note : implementation_notes(result, *repeats.front()->lead().result)) {
      verdict.notes.push_back(std::move(note));
    }
  }

  std::string declared_torch(const std::string& stack) const {
    const auto declared = run_.plan.declared.find(stack);
    if (declared == run_.plan.declared.end()) return "";
    const auto torch = declared->second.find("torch");
    return torch == declared->second.end() ? "" : torch->second;
  }

  // Numbers that were not made by this stack, or are held against its own, decide nothing in its favour.
  std::optional<Ended> of_another_stack(const Cell& cell, const std::vector<const AttemptRecord*>& repeats) const {
    if (const auto wrong = wrong_libraries(run_.plan, cell, repeats); !wrong.empty()) {
      const std::string more = wrong.size() > 1 ? fmt::format(", and {} more", wrong.size() - 1) : "";
      return Ended{Outcome::inconclusive, "wrong_libraries", wrong.front() + more};
    }
    const auto reference = cells_.reference_of(cell);
    if (!reference || reference->planned.cell.request.stack == cell.request.stack) return std::nullopt;
    const Cell& other = reference->planned.cell;
    const Fingerprint& loaded = repeats.front()->lead().result->fingerprint;
    const bool declare_one_torch = declared_torch(cell.request.stack) == declared_torch(other.request.stack);
    for (const AttemptRecord* attempt : last_attempts(other, reference->record)) {
      if (attempt == nullptr || !attempt->lead().result) continue;
      const std::string same = same_libraries(loaded, attempt->lead().result->fingerprint, declare_one_torch);
      if (!same.empty()) return Ended{Outcome::inconclusive, "same_libraries", same};
    }
    return std::nullopt;
  }

  void evaluate_checks(const Cell& cell, const CellEvidence& evidence, CellVerdict& verdict) {
    for (const CellThreshold& threshold : cell.thresholds) {
      const auto opposite = opposites_.of(opposite_of(threshold), cell, verdict.workload_digest);
      if (opposite) verdict.checks.push_back(evaluate(threshold, evidence, *opposite));
    }
  }

  const RunRecord& run_;
  const RecordedCells cells_;
  OppositeCells opposites_;
};

}  // namespace

std::vector<std::string> planted_faults(const Plan& plan) {
  std::map<std::string, int> cells;
  for (const PlannedCell& planned : plan.cells) {
    std::set<std::string> here;
    for (const auto& [repeat, injection] : planned.cell.injections) here.insert(injected_text(planned.cell, repeat));
    for (const std::string& fault : here) cells[fault] += planned.skip ? 0 : 1;
  }
  std::vector<std::string> texts;
  for (const auto& [fault, count] : cells) {
    texts.push_back(fmt::format("{} in {} cell{}", fault, count, count == 1 ? "" : "s"));
  }
  return texts;
}

RunVerdict judge(const RunRecord& run) {
  RunVerdict verdict;
  verdict.info = run.info;
  verdict.seal = run.seal;
  verdict.matrix = run.plan.matrix;
  verdict.matrix_file = run.plan.matrix_file;
  verdict.excluded = run.plan.excluded;
  verdict.images = run.plan.images;
  verdict.suites = run.plan.suites;
  Judge judge_of_cells(run);
  for (const PlannedCell& planned : run.plan.cells) verdict.cells.push_back(judge_of_cells.judge_cell(planned));
  for (CellVerdict& cell : verdict.cells) cell.next = next_step(cell, run.info.run_id);
  verdict.request = run.plan.request;
  verdict.planted = planted_faults(run.plan);
  verdict.environments = environments_of(run);
  summarise(verdict);
  return verdict;
}

}  // namespace reprobench
