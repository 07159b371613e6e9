// The memory that a training's processes took on the host and on the device. What it declares to take is
// state_memory_metrics.hpp.
#pragma once

#include <optional>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Nothing where a rank did not measure it.
std::optional<double> peak_rss_bytes(const AttemptRecord& attempt);        // all ranks together
std::optional<double> peak_anonymous_bytes(const AttemptRecord& attempt);  // the same without mapped files
std::optional<double> device_peak_bytes(const AttemptRecord& attempt);     // the fullest device

// Growth over the second half of the run, when every buffer has long been touched; of fewer than four samples nothing.
std::optional<double> rss_growth_bytes(const AttemptRecord& attempt);
std::optional<double> anonymous_growth_bytes(const AttemptRecord& attempt);

// The largest of the cell's repeats by the smallest of the reference's, so that chance never makes it look smaller.
Measurement peak_anonymous_share(const CellEvidence& cell, const CellEvidence* reference);

}  // namespace reprobench
