#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/evidence/cell_partner.hpp"
#include "matrix/evidence/planned_looks.hpp"
#include "matrix/evidence/repeats_due.hpp"
#include "matrix/inquiry/compared_sides.hpp"
#include "matrix/inquiry/explain/non_finite.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

bool has_trained(const AttemptRecord& attempt) {
  return attempt.end == AttemptEnd::completed || non_finite_step(attempt).has_value();
}

void take_attempt(ComparedSide& side, const AttemptRecord& attempt) {
  side.attempt = attempt;
  side.folder = side.stored->run_folder / attempt.lead().folder;
  const auto injection = side.stored->injections.find(attempt.repeat);
  side.request.inject.reset();
  if (injection != side.stored->injections.end()) side.request.inject = injection->second;
}

std::vector<AttemptRecord> last_attempts(const CellRecord& record) {
  std::map<int, AttemptRecord> last;  // by repeat; attempts stand in order
  for (const AttemptRecord& attempt : record.attempts) last.insert_or_assign(attempt.repeat, attempt);
  std::vector<AttemptRecord> repeats;
  for (auto& [repeat, attempt] : last) repeats.push_back(std::move(attempt));
  return repeats;
}

// Another check before that of repeats, which is left out where the repeats say it. Null: none failed.
const CheckResult* failed_numerics(const CellVerdict& cell) {
  const CheckResult* found = nullptr;
  for (const CheckResult& check : cell.checks) {
    const bool is_failed = check.gate == Gate::armed && check.status == CheckStatus::failed;
    if (!is_failed || check.dimension != Dimension::numerics) continue;
    if (check.metric != kRepeatMismatches) return &check;
    found = &check;
  }
  return found;
}

// A run with what its files come to, judged anew: nothing is taken from a verdict that was written before.
struct JudgedRun {
  RunRecord record;
  RunVerdict verdict;
};

JudgedRun load_judged(const std::filesystem::path& folder) {
  JudgedRun run{load_run(folder.string()), {}};
  run.verdict = judge(run.record);
  return run;
}

ComparedSide side_of(const JudgedRun& run, std::size_t index) {
  const PlannedCell& planned = run.record.plan.cells[index];
  const Cell& cell = planned.cell;
  const auto host = cell.coordinates.find("host");
  ComparedSide side{
      fmt::format("{}:{}", run.record.info.run_id, cell.request.cell_id), cell.request, {}, {}, StoredCell{}, ""};
  *side.stored = {run.record.info.run_id,
                  cell.slug,
                  host == cell.coordinates.end() ? "" : host->second,
                  run.record.folder,
                  repeats_due(cell, run.record.cells[index]),
                  planned_looks(cell),
                  last_attempts(run.record.cells[index]),
                  cell.injections,
                  cell.thresholds};
  if (const CheckResult* failed = failed_numerics(run.verdict.cells[index])) {
    side.stored->wrong_numbers = fmt::format("{} fails {}: {}", cell.slug, failed->metric, failed->sentence);
    side.stored->only_repeats_differ = failed->metric == kRepeatMismatches;
  }
  const auto& repeats = side.stored->repeats;
  const auto trained = std::find_if(repeats.begin(), repeats.end(), has_trained);
  if (planned.skip) {
    side.missing = fmt::format("was skipped: {}: {}", planned.skip->rule, planned.skip->reason);
  } else if (repeats.empty()) {
    side.missing = "has no attempt";
  } else if (trained == repeats.end()) {
    side.missing =
        fmt::format("did not train to its end: {}: {}", to_string(repeats.front().end), repeats.front().detail);
  } else {
    take_attempt(side, *trained);
  }
  return side;
}

// Operator calls have a comparison of their own (operator_atlas.hpp); what another probe measured is judged by checks.
bool is_checked_alone(const Cell& cell) {
  return cell.request.workload.is_probe() && cell.request.workload.probe != kOperatorsProbe;
}

[[noreturn]] void refuse_probe(const std::string& cell, const std::string& run_id) {
  throw UsageError(fmt::format("`{}` of run {} is a probe: `reprobench explain` shows what it measured", cell, run_id));
}

// No cell of a run, or not the one that is named, has a partner in it.
[[noreturn]] void refuse_alone(const JudgedRun& run, const std::string& cell, bool is_probe) {
  const std::string& id = run.record.info.run_id;
  if (cell.empty()) throw UsageError(fmt::format("run {} has no cell that was to train and has a reference", id));
  if (is_probe) refuse_probe(cell, id);
  std::vector<std::string> slugs;
  for (const PlannedCell& planned : run.record.plan.cells) {
    slugs.push_back(planned.cell.slug);
    if (!is_called(planned.cell, cell)) continue;
    throw UsageError(
        fmt::format("cell {} of run {} has no reference in it; name a second cell, run or stack to compare it with",
                    planned.cell.slug, id));
  }
  throw UsageError(unknown_name("cell of run " + id, cell, slugs));
}

struct RunSides {
  std::vector<PairingPoint> points;
  std::vector<ComparedSide> sides;  // of the same cells
};

// The cells that were to train; one that is named, whatever became of it.
RunSides sides_of(const RunCells& cells, NoPair no_pair, StoredPairs& left_out) {
  const JudgedRun run = load_judged(cells.folder);
  RunSides found;
  std::vector<std::string> slugs;
  bool is_probe = false;  // the cell that is named
  for (std::size_t i = 0; i < run.record.plan.cells.size(); ++i) {
    const PlannedCell& planned = run.record.plan.cells[i];
    slugs.push_back(planned.cell.slug);
    if (!cells.cell.empty() && !is_called(planned.cell, cells.cell)) continue;
    if (planned.cell.request.workload.is_probe()) {
      is_probe = true;
      if (is_checked_alone(planned.cell)) ++left_out.probes;
    } else if (planned.skip && cells.cell.empty()) {
      ++left_out.skipped;
    } else {
      found.points.push_back(pairing_point(planned.cell));
      found.sides.push_back(side_of(run, i));
    }
  }
  if (!found.sides.empty() || no_pair == NoPair::is_allowed) return found;
  const std::string& id = run.record.info.run_id;
  if (is_probe && !cells.cell.empty()) refuse_probe(cells.cell, id);
  throw UsageError(cells.cell.empty() ? fmt::format("run {} has no cell that was to train", id)
                                      : unknown_name("cell of run " + id, cells.cell, slugs));
}

const std::string* chain_of(const AttemptRecord& attempt) {
  const auto& result = attempt.lead().result;
  return has_trained(attempt) && result && !result->chain.empty() ? &result->chain : nullptr;
}

}  // namespace

void take_differing_repeats(SidePair& pair) {
  auto& [ours, theirs] = pair;
  if (!ours.stored || !theirs.stored || !ours.missing.empty() || !theirs.missing.empty()) return;
  for (const AttemptRecord& our : ours.stored->repeats) {
    for (const AttemptRecord& their : theirs.stored->repeats) {
      const std::string* our_chain = chain_of(our);
      const std::string* their_chain = chain_of(their);
      if (our_chain == nullptr || their_chain == nullptr || *our_chain == *their_chain) continue;
      take_attempt(ours, our);
      take_attempt(theirs, their);
      return;
    }
  }
}

StoredPairs sides_within_run(const RunCells& named, NoPair no_pair) {
  const JudgedRun run = load_judged(named.folder);
  const auto& cells = run.record.plan.cells;
  std::map<std::string, std::size_t> by_id;
  for (std::size_t i = 0; i < cells.size(); ++i) by_id.emplace(cells[i].cell.request.cell_id, i);
  StoredPairs found;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto reference = by_id.find(cells[i].cell.reference_cell_id.value_or(""));
    if (reference == by_id.end()) continue;
    if (!named.cell.empty() && !is_called(cells[i].cell, named.cell)) continue;
    if (cells[i].skip && named.cell.empty()) {
      ++found.skipped;
    } else if (cells[i].cell.request.workload.is_probe()) {
      if (is_checked_alone(cells[i].cell)) ++found.probes;
    } else {
      found.pairs.emplace_back(side_of(run, i), side_of(run, reference->second));
    }
  }
  if (found.pairs.empty() && no_pair == NoPair::is_refused) refuse_alone(run, named.cell, found.probes > 0);
  return found;
}

StoredPairs sides_of_runs(const RunCells& measured, const RunCells& expected, NoPair no_pair) {
  StoredPairs found;
  auto [our_points, ours] = sides_of(measured, no_pair, found);
  auto [their_points, theirs] = sides_of(expected, no_pair, found);
  // Two cells named by hand are compared whatever their coordinates; the comparison itself refuses what cannot be.
  if (!measured.cell.empty() && !expected.cell.empty() && !ours.empty() && !theirs.empty()) {
    found.pairs.emplace_back(std::move(ours.front()), std::move(theirs.front()));
    return found;
  }
  std::set<std::size_t> taken;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (const auto partner = partner_of(our_points[i], their_points)) {
      taken.insert(*partner);
      found.pairs.emplace_back(std::move(ours[i]), theirs[*partner]);
    } else {
      found.without_partner.push_back(ours[i].label);
    }
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (measured.cell.empty() && !taken.contains(i)) found.without_partner.push_back(theirs[i].label);
  }
  if (found.pairs.empty() && no_pair == NoPair::is_refused) {
    throw UsageError(fmt::format("{} and {} have no cell in common", measured.folder.filename().string(),
                                 expected.folder.filename().string()));
  }
  return found;
}

}  // namespace reprobench
