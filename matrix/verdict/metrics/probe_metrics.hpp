// Metrics over what a probe measured (contract/probe_measurement.hpp). The value of one measurement is the median of
// its samples; of several that a threshold selects the best one counts for rates, shares and latencies, and all of them
// for results that are wrong.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Operator calls (verdict/atlas/call_comparison.hpp) whose bits differ, and those of them that no rounding explains;
// the first is named. A call that the stack refuses and its reference makes is in both. A call that a release lacks, or
// that was too large, is in neither and said. No value where no call ran on both sides, or where a call has no record
// on one.
Measurement changed_calls(const CellEvidence& cell, const CellEvidence* reference);
Measurement broken_calls(const CellEvidence& cell, const CellEvidence* reference);

// How many operations, labelled alike on both sides, were done by another algorithm; the first of them is named. Those
// whose algorithm is not known on both sides do not count; no value where that is all of them.
Measurement changed_algorithms_between(const CellResult& measured, const CellResult& expected);

// Measurements whose result was wrong; what the stack cannot do is said.
Measurement wrong_results(const AttemptRecord& attempt, const MeasurementSelection& of);

// Repetitions whose result was not that of the first, bit for bit; no value where nothing was repeated.
Measurement differing_results(const AttemptRecord& attempt, const MeasurementSelection& of);

// Forward passes whose digest in some repeat is not that of the first, the first of them named; no value where a repeat
// has no digest of a pass, or passes that the first has not.
Measurement forward_mismatches(const CellEvidence& cell, const CellEvidence* none);

// Elements of a package's result that have other bits than eager's, the most of all batches; no value where the result
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
