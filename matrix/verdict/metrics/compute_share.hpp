// A training's speed against a limit: its floating-point operations a second as a share of the fastest matrix products
// of the same process (`throughput.gemm_peak_share`), and of the data sheet's dense peak (`throughput.mfu`, model FLOP
// utilisation: Chowdhery et al. 2022, "PaLM", appendix B). Operations are those of the model's formula
// (models/model_spec.hpp, whose name the check's sentence has): what is computed a second time to save memory does not
// count, so neither is a hardware utilisation.
//
// No value, and so inconclusive, where numerator and denominator may not belong together: operations of another batch,
// of changing length or of ranks that share a host; products that were wrong, of another type, held back, or slower
// than the training itself; a card without a row in the facts.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

Measurement gemm_peak_share(const AttemptRecord& attempt, const MeasurementSelection& of);
Measurement model_flop_utilisation(const AttemptRecord& attempt, const MeasurementSelection& of);

}  // namespace reprobench
