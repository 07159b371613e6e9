// Metrics over the measurements of a probe (contract/probe_measurement.hpp). The value of one measurement is the median
// of its samples. If a threshold selects several, the best one counts for rates, shares and latencies, and all of them
// count for wrong results.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Operator calls (verdict/atlas/call_comparison.hpp) whose bits differ, and those of them that no rounding explains;
// the first is named. A call that the stack refuses and its reference makes counts in both. A call that a release
// lacks, or that was too large, counts in neither, and the sentence says so. There is no value if no call ran on both
// sides, or if a call has no record on one.
Measurement changed_calls(const CellEvidence& cell, const CellEvidence* reference);
Measurement broken_calls(const CellEvidence& cell, const CellEvidence* reference);

// How many operations, labelled alike on both sides, were done by another algorithm; the first of them is named. Only
// operations whose algorithm is known on both sides count. If there are none, there is no value.
Measurement changed_algorithms_between(const CellResult& measured, const CellResult& expected);

// Measurements whose result was wrong. The sentence says which operations the stack cannot do.
Measurement wrong_results(const AttemptRecord& attempt, const MeasurementSelection& of);

// Repetitions whose result was not that of the first, bit for bit; no value if nothing was repeated.
Measurement differing_results(const AttemptRecord& attempt, const MeasurementSelection& of);

// Forward passes whose digest in some repeat differs from that of the first; the first such pass is named. There is no
// value if a repeat has no digest of a pass, or has passes that the first lacks.
Measurement forward_mismatches(const CellEvidence& cell, const CellEvidence* none);

// Elements of a package's result that have other bits than eager's, in the batch with the most; no value if the result
// was wrong.
Measurement elements_apart(const AttemptRecord& attempt, const MeasurementSelection& of);

Measurement best_bandwidth_gb_per_s(const AttemptRecord& attempt, const MeasurementSelection& of);
Measurement best_flop_rate_tflop_per_s(const AttemptRecord& attempt, const MeasurementSelection& of);
Measurement best_latency_ns(const AttemptRecord& attempt, const MeasurementSelection& of);
Measurement verified_bytes(const AttemptRecord& attempt, const MeasurementSelection& of);

// The best share of what `of.share_of` names: the data sheet's peak; the best any operation of that unit reached with
// the same labels but for `shape`; or another operation with the same labels. Missing where there is nothing to divide
// by.
Measurement best_bandwidth_share(const AttemptRecord& attempt, const MeasurementSelection& of);
Measurement best_flop_share(const AttemptRecord& attempt, const MeasurementSelection& of);

}  // namespace reprobench
