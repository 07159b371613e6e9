#include "matrix/verdict/reference_bits.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace reprobench {
namespace {

// The chains of the attempts that count, one a repeat. Empty if one of them did not complete: nothing can be said then.
std::set<std::string> chains_of(const CellVerdict& cell) {
  std::map<int, const AttemptSummary*> last;
  for (const AttemptSummary& attempt : cell.attempts) {
    const AttemptSummary*& slot = last[attempt.repeat];
    if (slot == nullptr || attempt.attempt >= slot->attempt) slot = &attempt;
  }
  std::set<std::string> chains;
  if (cell.outcome == Outcome::unfinished || cell.outcome == Outcome::errored) return chains;
  for (const auto& [repeat, attempt] : last) {
    if (attempt->end != AttemptEnd::completed || attempt->chain.empty()) return {};
    chains.insert(attempt->chain);
  }
  return chains;
}

bool fails_in_numerics(const CellVerdict& cell) {
  return std::any_of(cell.checks.begin(), cell.checks.end(), [](const CheckResult& check) {
    return check.dimension == Dimension::numerics && check.gate == Gate::armed && check.status == CheckStatus::failed;
  });
}

// The operations of a probe that this stack or device cannot do, or had no memory for: a chain is of those that it did.
auto refused_operations(const CellVerdict& cell) {
  std::set<std::tuple<std::string, std::map<std::string, std::string>>> refused;
  for (const auto& [repeat, measurement] : cell.measurements) {
    if (!is_done(measurement.status)) {
      refused.emplace(measurement.operation, measurement.labels);
    }
  }
  return refused;
}

}  // namespace

Match reference_bits(const CellVerdict& cell, const CellVerdict& reference) {
  const auto ours = chains_of(cell);
  const auto theirs = chains_of(reference);
  if (ours.empty() || theirs.empty() || cell.workload_digest != reference.workload_digest) return Match::not_comparable;
  if (fails_in_numerics(cell) || fails_in_numerics(reference)) return Match::differs;
  if (ours.size() == 1 && ours == theirs) return Match::equal;
  return refused_operations(cell) == refused_operations(reference) ? Match::differs : Match::not_comparable;
}

void state_reference_bits(std::vector<CellVerdict>& cells) {
  std::unordered_map<std::string, const CellVerdict*> by_id;
  for (const CellVerdict& cell : cells) by_id.emplace(cell.cell_id, &cell);
  for (CellVerdict& cell : cells) {
    if (!cell.reference_cell_id || cell.outcome == Outcome::skipped) continue;
    const auto reference = by_id.find(*cell.reference_cell_id);
    if (reference != by_id.end()) cell.reference_bits = reference_bits(cell, *reference->second);
  }
}

}  // namespace reprobench
