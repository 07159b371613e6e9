// The keys `of` and `to` of a threshold: the measurements of a probe that it is about, and the whole of which they are
// a share.
#pragma once

#include "matrix/contract/probe_measurement.hpp"
#include "matrix/spec/schema.hpp"

namespace reprobench {

// `of: triad`, or `of: {operation: gemm, dtype: bf16}`. Reports an operation, label or metric that does not fit.
void read_of(const MetricInfo& metric, MeasurementSelection& selection, const YamlEntry& entry, Scope& scope);

// `to: peak`, `to: measured_peak`, or an operation.
void read_to(const MetricInfo& metric, MeasurementSelection& selection, const YamlEntry& entry, Scope& scope);

}  // namespace reprobench
