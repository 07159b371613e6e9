// The keys `of` and `to` of a threshold: which of a probe's measurements it is about, and what they are a share of.
#pragma once

#include "matrix/contract/probe_measurement.hpp"
#include "matrix/spec/schema.hpp"

namespace reprobench {

// `of: triad`, or `of: {operation: gemm, dtype: bf16}`. Reports an operation, label or metric that does not fit.
void read_of(const MetricInfo& metric, MeasurementSelection& selection, const YamlEntry& entry, Scope& scope);

// `to: peak`, `to: measured_peak`, or an operation.
void read_to(const MetricInfo& metric, MeasurementSelection& selection, const YamlEntry& entry, Scope& scope);

}  // namespace reprobench
