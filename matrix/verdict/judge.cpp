#include "matrix/verdict/judge.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "matrix/evidence/planned_looks.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/verdict/cell_end.hpp"
#include "matrix/verdict/cell_families.hpp"
#include "matrix/verdict/check.hpp"
#include "matrix/verdict/environment.hpp"
#include "matrix/verdict/implementation_notes.hpp"
#include "matrix/verdict/link_notes.hpp"
#include "matrix/verdict/loaded_libraries.hpp"
#include "matrix/verdict/metrics/bitwise.hpp"
#include "matrix/verdict/metrics/skipped_updates.hpp"
#include "matrix/verdict/next_step.hpp"
#include "matrix/verdict/own_file_notes.hpp"
#include "matrix/verdict/summary.hpp"

namespace reprobench {
namespace {

using RecordById = std::unordered_map<std::string, const CellRecord*>;
using CellById = std::unordered_map<std::string, const PlannedCell*>;

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

class Judge {
 public:
  explicit Judge(const RunRecord& run) : run_(run), families_(run.plan) {
    for (const CellRecord& record : run.cells) records_.emplace(record.cell_id, &record);
    for (const PlannedCell& planned : run.plan.cells) {
      planned_.emplace(planned.cell.request.cell_id, &planned);
      const std::string id = name_without_host(planned.cell.request.cell_id);
      if (id != planned.cell.request.cell_id) on_hosts_[id].push_back(&planned);
      if (planned.cell.reference_cell_id) references_.insert(*planned.cell.reference_cell_id);
    }
    for (const CellRecord& record : run.cells) {
      const auto planned = planned_.find(record.cell_id);
      if (planned == planned_.end()) continue;
      const std::string stack = stack_and_driver(planned->second->cell);
      for (const AttemptRecord& attempt : record.attempts) faults_.add(stack, attempt);
    }
  }

  CellVerdict judge_cell(const PlannedCell& planned) {
    CellVerdict verdict = described(planned);
    if (planned.skip) {
      verdict.outcome = Outcome::skipped;
      verdict.reason = planned.skip->rule;
      verdict.sentence = planned.skip->reason;
      return verdict;
    }
    const CellRecord* record = record_of(planned.cell.request.cell_id);
    if (record == nullptr) {
      return conclude(verdict, {Outcome::unfinished, "not_started", "the run has no record of this cell"});
    }
    summarise_attempts(planned.cell, *record, verdict);
    note_links(planned.cell, verdict);
    const auto repeats = last_attempts(planned.cell, *record);
    note_own_files(planned.cell, repeats, verdict);
    const auto early = ended_early(planned.cell, repeats, stack_and_driver(planned.cell), faults_);
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
    const CellEvidence evidence = load_evidence(planned.cell, repeats);
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
    if (ended.outcome != Outcome::failed) {
      if (auto other = of_another_stack(planned.cell, repeats)) ended = std::move(*other);
    }
    return conclude(verdict, std::move(ended));
  }

 private:
  // In a merged run that of the cell's label.
  const HostFacts& host_of(const Cell& cell) const {
    const auto label = cell.coordinates.find("host");
    for (const PlanHost& host : run_.plan.hosts) {
      if (label != cell.coordinates.end() && host.label == label->second) return host.facts;
    }
    return run_.plan.host;
  }

  // Under which a device fault on two GPUs is no accident; in a merged run drivers may differ.
  std::string stack_and_driver(const Cell& cell) const { return cell.request.stack + " " + host_of(cell).driver; }

  const CellRecord* record_of(const std::string& cell_id) const {
    const auto found = records_.find(cell_id);
    return found == records_.end() ? nullptr : found->second;
  }

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

  std::vector<std::string> links_of(const Cell& cell, const AttemptRecord& attempt) const {
    return attempt.telemetry ? links_between(host_of(cell), attempt.telemetry->gpus) : std::vector<std::string>{};
  }

  void summarise_attempts(const Cell& cell, const CellRecord& record, CellVerdict& verdict) const {
    for (const AttemptRecord& attempt : record.attempts) {
      verdict.attempts.push_back({attempt.repeat, attempt.attempt, attempt.end, attempt.detail, attempt.folder,
                                  attempt.lead().result ? attempt.lead().result->chain : "",
                                  injected_text(cell, attempt.repeat),
                                  attempt.telemetry ? std::optional(report_of(*attempt.telemetry)) : std::nullopt,
                                  duration_of(attempt), links_of(cell, attempt)});
    }
  }

  void note_links(const Cell& cell, CellVerdict& verdict) const {
    std::vector<NamedLinks> all;
    for (const AttemptSummary& attempt : verdict.attempts) {
      all.push_back({fmt::format("repeat {}", attempt.repeat), attempt.links});
    }
    const std::string reference_id = cell.reference_cell_id.value_or("");
    const auto planned = planned_.find(reference_id);
    if (const CellRecord* record = record_of(reference_id); record != nullptr && planned != planned_.end()) {
      for (const AttemptRecord& attempt : record->attempts) {
        all.push_back(
            {fmt::format("the reference's repeat {}", attempt.repeat), links_of(planned->second->cell, attempt)});
      }
    }
    for (std::string& note : link_notes(all)) verdict.notes.push_back(std::move(note));
  }

  // Of the first repeat of either: what computed a workload depends on the machine and its stack.
  void note_implementations(const Cell& cell, const CellResult& result, CellVerdict& verdict) const {
    const auto planned = planned_.find(cell.reference_cell_id.value_or(""));
    const CellRecord* record = planned == planned_.end() ? nullptr : record_of(planned->first);
    if (record == nullptr) return;
    const std::vector<const AttemptRecord*> repeats = last_attempts(planned->second->cell, *record);
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
    const auto planned = planned_.find(cell.reference_cell_id.value_or(""));
    if (planned == planned_.end() || planned->second->cell.request.stack == cell.request.stack) return std::nullopt;
    const CellRecord* record = record_of(planned->first);
    if (record == nullptr) return std::nullopt;
    const Fingerprint& loaded = repeats.front()->lead().result->fingerprint;
    const bool declare_one_torch =
        declared_torch(cell.request.stack) == declared_torch(planned->second->cell.request.stack);
    for (const AttemptRecord* attempt : last_attempts(planned->second->cell, *record)) {
      if (attempt == nullptr || !attempt->lead().result) continue;
      const std::string same = same_libraries(loaded, attempt->lead().result->fingerprint, declare_one_torch);
      if (!same.empty()) return Ended{Outcome::inconclusive, "same_libraries", same};
    }
    return std::nullopt;
  }

  void evaluate_checks(const Cell& cell, const CellEvidence& evidence, CellVerdict& verdict) {
    const ReferenceEvidence reference = find_reference(cell, verdict.workload_digest);
    for (const CellThreshold& threshold : cell.thresholds) {
      switch (opposite_of(threshold)) {
        case Against::nothing:
        case Against::reference:
          verdict.checks.push_back(evaluate(threshold, evidence, reference));
          break;
        case Against::other_host:
          if (const PlannedCell* other = on_other_host(cell)) {
            verdict.checks.push_back(
                evaluate(threshold, evidence, evidence_of(*other, verdict.workload_digest, other_host_)));
          }
          break;
        case Against::one_rank:
          if (CellFamilies::is_another_layout(cell)) {
            verdict.checks.push_back(evaluate(threshold, evidence, on_one_rank(cell, verdict.workload_digest)));
          }
          break;
        case Against::one_share:
          if (cell.request.world_size > 1) verdict.checks.push_back(evaluate(threshold, evidence, of_one_share(cell)));
          break;
        case Against::seeds:
          if (const auto& cells = families_.of_seeds(cell); cells.size() > 1) {
            verdict.checks.push_back(evaluate(threshold, evidence, ends_of_seeds(cells)));
          }
          break;
        case Against::on_cpu:
          if (!CellFamilies::is_cpu(cell)) {
            verdict.checks.push_back(evaluate(threshold, evidence, on_cpu(cell, verdict.workload_digest)));
          }
          break;
        case Against::construction:
          verdict.checks.push_back(evaluate(threshold, evidence, {&constructed(cell), {}, ""}));
          break;
      }
    }
  }

  // The same cell on the first other host of a merged run; null: no other host ran it.
  const PlannedCell* on_other_host(const Cell& cell) const {
    const auto found = on_hosts_.find(name_without_host(cell.request.cell_id));
    if (found == on_hosts_.end()) return nullptr;
    const auto& cells = found->second;
    const auto other = std::find_if(cells.begin(), cells.end(), [&](const PlannedCell* candidate) {
      return candidate->cell.request.cell_id != cell.request.cell_id;
    });
    return other == cells.end() ? nullptr : *other;
  }

  ReferenceEvidence on_one_rank(const Cell& cell, const std::string& workload_digest) {
    const PlannedCell* alone = families_.on_one_rank(cell);
    if (alone == nullptr) {
      return {
          nullptr, "no_reference",
          fmt::format("no cell of this plan does its {} micro-batches on one rank", micro_batches_of(cell.request))};
    }
    if (alone->skip) return {nullptr, "no_reference", fmt::format("{} was skipped", alone->cell.slug)};
    return evidence_of(*alone, workload_digest, one_rank_);
  }

  ReferenceEvidence on_cpu(const Cell& cell, const std::string& workload_digest) {
    const PlannedCell* twin = families_.on_cpu(cell);
    if (twin == nullptr) return {nullptr, "no_reference", "no cell of this plan trains the same on the CPU"};
    if (twin->skip) return {nullptr, "no_reference", fmt::format("{} was skipped", twin->cell.slug)};
    return evidence_of(*twin, workload_digest, on_cpu_);
  }

  // Of another batch, and so of another workload digest: the metric holds the work of each rank against it.
  ReferenceEvidence of_one_share(const Cell& cell) {
    const PlannedCell* alone = families_.of_one_share(cell);
    if (alone == nullptr) {
      return {nullptr, "no_reference",
              fmt::format("no cell of this plan trains on one rank the {} of {} samples that each of {} ranks does",
                          cell.request.workload.batch_size / cell.request.world_size, cell.request.workload.batch_size,
                          cell.request.world_size)};
    }
    if (alone->skip) return {nullptr, "no_reference", fmt::format("{} was skipped", alone->cell.slug)};
    return evidence_of(*alone, std::nullopt, one_share_);
  }

  // The first repeat of each, of which the bits of its steps are dropped.
  ReferenceEvidence ends_of_seeds(const std::vector<const PlannedCell*>& cells) {
    const std::string name = fmt::format("{} and {} others", cells.front()->cell.slug, cells.size() - 1);
    if (seeds_.slug == name) return {&seeds_, {}, ""};
    CellEvidence all{name, cells.front()->cell.request.device, "", {}};
    for (const PlannedCell* planned : cells) {
      const std::string& slug = planned->cell.slug;
      if (planned->skip) return {nullptr, "no_reference", fmt::format("{} was skipped", slug)};
      const CellRecord* record = record_of(planned->cell.request.cell_id);
      if (record == nullptr) return {nullptr, "no_reference", fmt::format("{} did not run", slug)};
      const auto repeats = last_attempts(planned->cell, *record);
      if (const auto early = ended_early(planned->cell, repeats, stack_and_driver(planned->cell), faults_)) {
        return {nullptr, "reference_failed",
                fmt::format("{} is {}: {}", slug, to_string(early->outcome), early->sentence)};
      }
      CellEvidence one = load_evidence(planned->cell, {repeats.front()});
      for (RankRecord& rank : one.repeats.front().ranks) rank.trace->tensors.clear();
      all.host = one.host;
      all.repeats.push_back(std::move(one.repeats.front()));
    }
    seeds_ = std::move(all);
    return {&seeds_, {}, ""};
  }

  // What stands for a cell's workload, kept as the little of its trace that is made by construction.
  const CellEvidence& constructed(const Cell& cell) {
    if (anchors_.empty()) find_anchors();
    const std::string key = workload_key(cell.request);
    if (const auto known = constructed_.find(key); known != constructed_.end()) return known->second;
    const Cell& anchor = anchors_.at(key).planned->cell;
    CellEvidence evidence = load_evidence(anchor, last_attempts(anchor, *record_of(anchor.request.cell_id)));
    evidence.repeats.resize(1);
    for (RankRecord& rank : evidence.repeats.front().ranks) rank.trace = constructed_part(*rank.trace);
    return constructed_.emplace(key, std::move(evidence)).first->second;
  }

  // Of each workload the first cell that completed: one that digests its inputs before one that does not, references
  // before others, the CPU before other devices.
  void find_anchors() {
    for (const PlannedCell& planned : run_.plan.cells) {
      const Cell& cell = planned.cell;
      const CellRecord* record = record_of(cell.request.cell_id);
      if (planned.skip || record == nullptr ||
          ended_early(cell, last_attempts(cell, *record), stack_and_driver(cell), faults_))
        continue;
      const int rank = (digests_tensors(cell.request.trace) ? 4 : 0) +
                       (references_.count(cell.request.cell_id) > 0 ? 2 : 0) + (CellFamilies::is_cpu(cell) ? 1 : 0);
      const auto [known, is_new] = anchors_.try_emplace(workload_key(cell.request), Anchor{&planned, rank});
      if (!is_new && rank > known->second.rank) known->second = {&planned, rank};
    }
  }

  // Cells that ask for the same numbers to be made: knobs change how they are computed with, and some of them what.
  static std::string workload_key(const CellRequest& request) {
    const WorkloadRequest& workload = request.workload;
    std::string key = fmt::format("{}/{}/{}/{}/{}/{}", workload.model, workload.preset, workload.steps,
                                  workload.batch_size, workload.probe, workload.samples);
    for (const OwnFileField& own : kOwnFiles) {
      if (!(workload.*own.sha256).empty()) key += fmt::format("/{}={}", own.name, workload.*own.sha256);
    }
    if (request.world_size > 1) key += fmt::format("/{} ranks", request.world_size);  // each has its share of a batch
    for (const auto& [name, value] : request.knobs) key += fmt::format("/{}={}", name, value);
    return key;
  }

  // Traces are read when a cell is judged and dropped afterwards: a run of thousands of cells fits in memory.
  CellEvidence load_evidence(const Cell& cell, const std::vector<const AttemptRecord*>& repeats) const {
    const auto host = cell.coordinates.find("host");
    CellEvidence evidence{cell.slug, cell.request.device, host == cell.coordinates.end() ? "" : host->second, {}};
    evidence.looks = planned_looks(cell);
    evidence.precision = precision_text(cell.request);
    const auto diagnosis = run_.diagnoses.find(cell.request.cell_id);
    if (diagnosis != run_.diagnoses.end() && diagnosis->second.reference_cell_id == cell.reference_cell_id) {
      evidence.diagnosis = &diagnosis->second;
    }
    for (const AttemptRecord* attempt : repeats) {
      evidence.repeats.push_back(*attempt);
      load_traces(evidence.repeats.back(), run_.folder, cell.request);
      if (auto kinds = link_kinds(links_of(cell, *attempt)); !kinds.empty()) evidence.links.insert(std::move(kinds));
    }
    return evidence;
  }

  ReferenceEvidence find_reference(const Cell& cell, const std::string& workload_digest) {
    if (!cell.reference_cell_id) return {nullptr, "no_reference", "no cell of this plan is its reference"};
    const auto planned = planned_.find(*cell.reference_cell_id);
    const CellRecord* record = record_of(*cell.reference_cell_id);
    if (planned == planned_.end() || record == nullptr) {
      return {nullptr, "no_reference", fmt::format("its reference {} did not run", *cell.reference_cell_id)};
    }
    if (planned->second->skip) {
      return {nullptr, "no_reference", fmt::format("its reference {} was skipped", planned->second->cell.slug)};
    }
    return evidence_of(*planned->second, workload_digest, reference_);
  }

  // A cell that another is held against, read into `kept`. Without a digest it may be any, but that of all repeats.
  ReferenceEvidence evidence_of(const PlannedCell& planned, const std::optional<std::string>& workload_digest,
                                CellEvidence& kept) {
    const Cell& reference = planned.cell;
    const CellRecord* record = record_of(reference.request.cell_id);
    if (record == nullptr) return {nullptr, "no_reference", fmt::format("{} did not run", reference.slug)};
    const auto repeats = last_attempts(reference, *record);
    if (const auto early = ended_early(reference, repeats, stack_and_driver(reference), faults_)) {
      return {nullptr, "reference_failed",
              fmt::format("its reference {} is {}: {}", reference.slug, to_string(early->outcome), early->sentence)};
    }
    const auto digest = common_workload_digest(repeats);
    if (!digest || (workload_digest && *digest != *workload_digest)) {
      return {nullptr, "not_comparable",
              fmt::format("its reference {} ran another workload: workload_digest {} there, {} here", reference.slug,
                          digest.value_or("differs between repeats"), workload_digest.value_or("another"))};
    }
    if (kept.slug != reference.slug) kept = load_evidence(reference, repeats);
    return {&kept, {}, ""};
  }

  const RunRecord& run_;
  const CellFamilies families_;
  RecordById records_;
  CellById planned_;
  RepeatedFaults faults_;
  std::set<std::string> references_;
  std::unordered_map<std::string, std::vector<const PlannedCell*>> on_hosts_;  // by id without host
  struct Anchor {
    const PlannedCell* planned;
    int rank;
  };
  std::unordered_map<std::string, Anchor> anchors_;  // by workload_key(), like the next
  std::unordered_map<std::string, CellEvidence> constructed_;
  CellEvidence reference_;  // as last read: neighbouring cells of a plan often share theirs
  CellEvidence other_host_;
  CellEvidence seeds_;
  CellEvidence one_rank_;
  CellEvidence one_share_;
  CellEvidence on_cpu_;
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
