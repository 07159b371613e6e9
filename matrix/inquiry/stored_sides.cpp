#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "matrix/contract/usage_error.hpp"
#include "matrix/evidence/planned_looks.hpp"
#include "matrix/evidence/repeats_due.hpp"
#include "matrix/inquiry/compared_sides.hpp"
#include "matrix/inquiry/non_finite.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

// What a comparison may change: the stack, the device, or the host that a merged run's cells name.
bool is_compared_across(const std::string& coordinate) {
  return coordinate == "stack" || coordinate == "device" || coordinate == "host";
}

std::string pairing_key(const Cell& cell) {
  std::string key = cell.request.suite + "/" + cell.request.workload.model + "/" + cell.request.workload.preset;
  for (const auto& [name, value] : cell.coordinates) {
    if (!is_compared_across(name)) key += "/" + name + "=" + value;
  }
  return key;
}

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

std::string failed_numerics(const CellVerdict& cell) {
  for (const CheckResult& check : cell.checks) {
    const bool is_failed = check.gate == Gate::armed && check.status == CheckStatus::failed;
    if (is_failed && check.dimension == Dimension::numerics) {
      return fmt::format("{} fails {}: {}", cell.slug, check.metric, check.sentence);
    }
  }
  return "";
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
                  cell.thresholds,
                  failed_numerics(run.verdict.cells[index])};
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

bool is_called(const Cell& cell, const std::string& name) {
  return cell.slug == name || (name.size() >= 4 && cell.request.cell_id.rfind(name, 0) == 0);
}

struct RunSide {
  std::string key;
  ComparedSide side;
};

// The cells that were to run; one that is named, whatever became of it.
std::vector<RunSide> sides_of(const RunCells& cells, StoredPairs& left_out) {
  const JudgedRun run = load_judged(cells.folder);
  std::vector<RunSide> sides;
  std::vector<std::string> slugs;
  for (std::size_t i = 0; i < run.record.plan.cells.size(); ++i) {
    const PlannedCell& planned = run.record.plan.cells[i];
    slugs.push_back(planned.cell.slug);
    if (!cells.cell.empty() && !is_called(planned.cell, cells.cell)) continue;
    if (planned.cell.request.workload.is_probe()) {
      ++left_out.probes;
    } else if (planned.skip && cells.cell.empty()) {
      ++left_out.skipped;
    } else {
      sides.push_back({pairing_key(planned.cell), side_of(run, i)});
    }
  }
  if (!sides.empty()) return sides;
  const std::string& id = run.record.info.run_id;
  if (left_out.probes > 0 && !cells.cell.empty()) {
    throw UsageError(
        fmt::format("`{}` of run {} is a probe: `reprobench explain` shows what it measured", cells.cell, id));
  }
  throw UsageError(cells.cell.empty() ? fmt::format("run {} has no cell that was to train", id)
                                      : unknown_name("cell of run " + id, cells.cell, slugs));
}

// How far two cells with one key are from being the same cell; nothing if both stack and device differ.
std::optional<int> distance(const ComparedSide& ours, const ComparedSide& theirs) {
  const bool other_stack = ours.request.stack != theirs.request.stack;
  const bool other_device = ours.request.device != theirs.request.device;
  if (other_stack && other_device) return std::nullopt;
  return (other_device ? 4 : 0) + (other_stack ? 2 : 0) + (ours.stored->host != theirs.stored->host ? 1 : 0);
}

// The nearest cell of the other run: the same one, best on the same host; else one that differs in nothing but its
// stack; else in nothing but its device. Of several equally near ones with another stack or device none.
const ComparedSide* partner_of(const RunSide& ours, const std::vector<RunSide>& theirs) {
  const ComparedSide* found = nullptr;
  int nearest = 0;
  int candidates = 0;
  for (const RunSide& other : theirs) {
    if (other.key != ours.key) continue;
    const auto away = distance(ours.side, other.side);
    if (!away || (found != nullptr && *away > nearest)) continue;
    if (found != nullptr && *away == nearest) {
      ++candidates;
      continue;
    }
    found = &other.side;
    nearest = *away;
    candidates = 1;
  }
  return nearest < 2 || candidates == 1 ? found : nullptr;
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

StoredPairs sides_within_run(const RunCells& named) {
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
      ++found.probes;
    } else {
      found.pairs.emplace_back(side_of(run, i), side_of(run, reference->second));
    }
  }
  if (found.pairs.empty()) {
    const std::string of_that_name = named.cell.empty() ? "" : fmt::format(" called `{}`", named.cell);
    throw UsageError(fmt::format("run {} has no cell{} that was to train and has a reference", run.record.info.run_id,
                                 of_that_name));
  }
  return found;
}

StoredPairs sides_of_runs(const RunCells& measured, const RunCells& expected) {
  StoredPairs found;
  auto ours = sides_of(measured, found);
  auto theirs = sides_of(expected, found);
  // Two cells named by hand are compared whatever their coordinates; the comparison itself refuses what cannot be.
  if (!measured.cell.empty() && !expected.cell.empty()) {
    found.pairs.emplace_back(std::move(ours.front().side), std::move(theirs.front().side));
    return found;
  }
  std::set<std::string> taken;
  for (RunSide& our : ours) {
    const ComparedSide* partner = partner_of(our, theirs);
    if (partner == nullptr) {
      found.without_partner.push_back(our.side.label);
    } else {
      taken.insert(partner->label);
      found.pairs.emplace_back(std::move(our.side), *partner);
    }
  }
  for (const RunSide& their : theirs) {
    if (measured.cell.empty() && !taken.contains(their.side.label)) found.without_partner.push_back(their.side.label);
  }
  if (found.pairs.empty()) {
    throw UsageError(fmt::format("{} and {} have no cell in common", measured.folder.filename().string(),
                                 expected.folder.filename().string()));
  }
  return found;
}

}  // namespace reprobench
