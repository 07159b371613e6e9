#include "matrix/verdict/metrics/compute_share.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "matrix/evidence/timed_steps.hpp"
#include "matrix/stats/robust.hpp"

namespace reprobench {
namespace {

// A peak is the best sample there is, for neighbours can only make one slower. Where most samples of that shape are
// slower by a quarter, so was the training, more or less, and the two are no share of each other.
constexpr double kLeastMedianOfBest = 0.75;

struct Rate {
  double tflop_per_s = 0;
  std::string missing = {};  // sentence; set: there is none
};

Rate no_rate(std::string why) { return {0, std::move(why)}; }

Measurement none(const AttemptRecord& attempt, const std::string& why) {
  return no_value(fmt::format("repeat {}: {}", attempt.repeat, why));
}

// What the formula counts of a step by the time of a step. The operations are the worker's word, so they must be of as
// many samples as the trace says that each step trained.
Rate rate_of_steps(const AttemptRecord& attempt) {
  if (attempt.ranks.size() != 1) return no_rate("its ranks share one host, and no peak is one rank's");
  const CellResult& result = *attempt.lead().result;
  if (!result.model_flops) return no_rate("its worker counted no operations of a step");
  const ModelFlops& flops = *result.model_flops;
  if (flops.flops_per_step == 0) return no_rate(flops.missing);
  for (const StepRecord& step : attempt.lead().trace->steps) {
    if (step.samples == flops.samples) continue;
    return no_rate(fmt::format("the operations are those of {} samples, and step {} trained {}", flops.samples,
                               step.step, step.samples));
  }
  const std::vector<double> times_ns = timed_steps_ns(attempt);
  if (times_ns.empty()) return no_rate("it has no step that counts");
  return {static_cast<double>(flops.flops_per_step) / median(times_ns) / 1e3};
}

std::string tflop_text(double tflop_per_s) {
  return tflop_per_s < 1 ? fmt::format("{:.3g} GFLOP/s", tflop_per_s * 1e3)
                         : fmt::format("{:.4g} TFLOP/s", tflop_per_s);
}

// "0.0429 GFLOP a step (matrix products, PaLM appendix B) at 60.1 GFLOP/s of 81.3 GFLOP/s, fp32".
std::string numbers(const AttemptRecord& attempt, double rate, double peak, const std::string& of) {
  const ModelFlops& flops = *attempt.lead().result->model_flops;
  return fmt::format("{:.4g} GFLOP a step ({}) at {} of {}, {} {}", static_cast<double>(flops.flops_per_step) * 1e-9,
                     flops.convention, tflop_text(rate), tflop_text(peak), flops.dtype, of);
}

// Why the products that were timed are no peak of what the training computes in; empty: they may be.
std::string unfit(const AttemptRecord& attempt) {
  const CellResult& result = *attempt.lead().result;
  if (result.measurements.empty()) return "no matrix product was timed";
  for (const ProbeMeasurement& one : result.measurements) {
    const auto dtype = one.labels.find("dtype");
    if (one.operation != "gemm" || !one.labels.contains("shape") || dtype == one.labels.end() ||
        dtype->second != result.model_flops->dtype) {
      return fmt::format("{} was timed, and the training computes in {}",
                         MeasurementSelection{one.operation, one.labels, ""}.text(), result.model_flops->dtype);
    }
    if (one.status != MeasurementStatus::measured) {
      return fmt::format("a matrix product was not timed: {}", one.finding);
    }
    if (!std::ranges::all_of(one.samples, [](double sample) { return std::isfinite(sample); })) {
      return "a matrix product has a rate that is no number";
    }
  }
  if (attempt.telemetry && !attempt.telemetry->measurements_invalid.empty()) {
    return fmt::format("what its GPU did while products were timed: {}", attempt.telemetry->measurements_invalid);
  }
  return "";
}

double best_sample(const ProbeMeasurement& measurement) { return std::ranges::max(measurement.samples); }

}  // namespace

Measurement gemm_peak_share(const AttemptRecord& attempt, const MeasurementSelection&) {
  const Rate rate = rate_of_steps(attempt);
  if (!rate.missing.empty()) return none(attempt, rate.missing);
  if (const std::string why = unfit(attempt); !why.empty()) return none(attempt, why);
  const auto& measurements = attempt.lead().result->measurements;
  const ProbeMeasurement& best = *std::ranges::max_element(measurements, {}, &best_sample);
  const double peak = best_sample(best);
  const double usual = median(best.samples);
  if (usual < kLeastMedianOfBest * peak) {
    return none(attempt, fmt::format("the products were disturbed: {} at best, {} in half of the samples",
                                     tflop_text(peak), tflop_text(usual)));
  }
  if (rate.tflop_per_s > peak) {
    return none(attempt, fmt::format("the training did {}, its fastest product {}: that is no peak",
                                     tflop_text(rate.tflop_per_s), tflop_text(peak)));
  }
  Measurement share;
  share.value = rate.tflop_per_s / peak;
  share.finding = numbers(attempt, rate.tflop_per_s, peak, "product of " + best.labels.at("shape"));
  return share;
}

Measurement model_flop_utilisation(const AttemptRecord& attempt, const MeasurementSelection&) {
  const Rate rate = rate_of_steps(attempt);
  if (!rate.missing.empty()) return none(attempt, rate.missing);
  const CellResult& result = *attempt.lead().result;
  if (!result.fingerprint.device) return none(attempt, "a CPU has no data sheet's peak");
  const auto sheet = std::ranges::find_if(result.measurements, [&](const ProbeMeasurement& one) {
    const auto dtype = one.labels.find("dtype");
    return one.operation == "gemm" && dtype != one.labels.end() && dtype->second == result.model_flops->dtype;
  });
  if (sheet == result.measurements.end()) return none(attempt, "its worker was given no data sheet");
  if (!sheet->peak || !(*sheet->peak > 0)) {
    return none(attempt, fmt::format("the facts have no dense peak of {} in {}", result.fingerprint.device->name,
                                     result.model_flops->dtype));
  }
  if (rate.tflop_per_s > *sheet->peak) {
    return none(attempt, fmt::format("the training did {}, {} is the data sheet's peak: one of them is wrong",
                                     tflop_text(rate.tflop_per_s), tflop_text(*sheet->peak)));
  }
  Measurement utilisation;
  utilisation.value = rate.tflop_per_s / *sheet->peak;
  utilisation.finding = numbers(attempt, rate.tflop_per_s, *sheet->peak, "of " + sheet->peak_source);
  return utilisation;
}

}  // namespace reprobench
