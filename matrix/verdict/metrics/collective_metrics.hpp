// Metrics over the ranks' measurements of collectives. A call is as slow as on its slowest rank, and each size counts
// for itself. If a threshold selects several, the worst one is the value, and it is named. Bandwidths are nccl-tests'
// (contract/collective.hpp), from the median time.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Measurements, of any rank, in which a call had a wrong result. The first is named with its rank, call and element.
Measurement wrong_collectives(const AttemptRecord& attempt, const MeasurementSelection& of);

// For numbers whose sum depends on the order. The first counts results of a rank that differ from its first call's; the
// second counts collectives whose ranks should hold the same and do not.
Measurement differing_calls(const AttemptRecord& attempt, const MeasurementSelection& of);
Measurement differing_ranks(const AttemptRecord& attempt, const MeasurementSelection& of);

Measurement latency_p50_ns(const AttemptRecord& attempt, const MeasurementSelection& of);
Measurement latency_p99_ns(const AttemptRecord& attempt, const MeasurementSelection& of);

// The largest ratio to the reference over all operations and sizes, by the fastest tenth of calls on the slowest rank,
// in the fastest repeat of either side. A median would not do, since ranks that share cores wait whole time slices.
Measurement latency_ratio(const CellEvidence& cell, const CellEvidence* reference);

Measurement algorithm_bandwidth_gb_per_s(const AttemptRecord& attempt, const MeasurementSelection& of);
Measurement bus_bandwidth_gb_per_s(const AttemptRecord& attempt, const MeasurementSelection& of);

// Bandwidth as a share of the slowest link between the attempt's GPUs, or of the data sheet's NVLinks. There is no
// value if a rank of a collective that moves bytes does not say that it reaches the others directly.
Measurement bus_bandwidth_share(const AttemptRecord& attempt, const MeasurementSelection& of);

// Startup time and bandwidth of an operation over all its sizes (stats/transfer_fit.hpp), from the times of its fastest
// tenth of calls. There is no value if a measured time is more than twice, or less than half, the fitted one.
Measurement startup_ns(const AttemptRecord& attempt, const MeasurementSelection& of);
Measurement fitted_bandwidth_gb_per_s(const AttemptRecord& attempt, const MeasurementSelection& of);

// Collectives that added up in another order than in the other repeats of the cell, or than the reference's did: their
// digests differ on some rank.
Measurement changed_orders_between_repeats(const CellEvidence& cell, const CellEvidence* reference);
Measurement changed_orders_to_reference(const CellEvidence& cell, const CellEvidence* reference);

}  // namespace reprobench
