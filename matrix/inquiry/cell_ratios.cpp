#include "matrix/inquiry/cell_ratios.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/record/run_directory.hpp"
#include "matrix/record/trace_reader.hpp"
#include "matrix/verdict/check.hpp"
#include "matrix/verdict/quantity_text.hpp"

namespace reprobench {
namespace {

bool is_whole(const ComparedSide& side) {
  return side.stored && side.missing.empty() && std::ssize(side.stored->repeats) == side.stored->repeats_due &&
         std::all_of(side.stored->repeats.begin(), side.stored->repeats.end(),
                     [](const AttemptRecord& attempt) { return attempt.end == AttemptEnd::completed; });
}

CellEvidence evidence_of(const ComparedSide& side) {
  const StoredCell& stored = *side.stored;
  CellEvidence evidence{stored.slug, side.request.device, stored.host, stored.repeats, stored.looks};
  for (AttemptRecord& attempt : evidence.repeats) {
    int number = 0;
    for (RankRecord& rank : attempt.ranks) {
      rank.trace = read_trace(stored.run_folder / rank.folder / "trace.jsonl", side.request.cell_id, attempt.nonce,
                              first_step_of(side.request), number++);
      if (!rank.trace->problem.empty()) throw StoreError(fmt::format("{}: {}", rank.folder, rank.trace->problem));
    }
  }
  return evidence;
}

bool compares_regression(const CellThreshold& threshold) {
  const Metric* metric = find_metric(threshold.metric);
  return metric != nullptr && metric->info.dimension != Dimension::numerics &&
         threshold.bound.kind == Bound::Kind::max_regression;
}

}  // namespace

std::vector<CellRatio> cell_ratios(const ComparedSide& measured, const ComparedSide& expected) {
  std::vector<CellRatio> ratios;
  if (!is_whole(measured) || !is_whole(expected)) return ratios;
  std::optional<CellEvidence> ours;
  std::optional<CellEvidence> theirs;
  for (CellThreshold threshold : measured.stored->thresholds) {
    if (!compares_regression(threshold)) continue;
    if (!ours) {
      ours = evidence_of(measured);
      theirs = evidence_of(expected);
      // Of two runs, noise may have left this side open alone.
      ours->repeats.resize(std::min(ours->repeats.size(), partners_of(*theirs, *ours)));
    }
    threshold.gate = Gate::record_only;
    const CheckResult check = evaluate(threshold, *ours, {&*theirs, {}, ""});
    CellRatio ratio{check.metric,    check.unit,       check.measured, check.reference, check.ratio,
                    check.ratio_low, check.ratio_high, check.status,   check.sentence};
    if (ratio.measured && ratio.expected && !ratio.ratio) {
      ratio.sentence = fmt::format("{} against {}: {}", humanised(*ratio.measured, ratio.unit),
                                   humanised(*ratio.expected, ratio.unit), ratio.sentence);
    }
    ratios.push_back(std::move(ratio));
  }
  return ratios;
}

}  // namespace reprobench
