#include "suites/worker/gemm_peak.hpp"

#include <algorithm>
#include <span>

#include "suites/worker/probes/matrix_products.hpp"
#include "suites/worker/probes/probe_run.hpp"

namespace reprobench {
namespace {

// One core is at its peak from a side of about 256 on, many cores and cards later; those have done it in less than the
// longest call by then. On a core without an optimised BLAS the second one would take longer already.
constexpr std::int64_t kSidesOnCpu[] = {128, 256, 512, 1024, 2048, 4096};
constexpr std::int64_t kSidesOnGpu[] = {2048, 4096, 8192};
constexpr double kLongestCallNs = 2e7;
constexpr std::int64_t kBytesAnElement = 64;  // operands and result in fp32, fp64 and the type, and what checks need

// What products are done in: the autocast type where there is one.
std::string product_dtype_of(const Training& run) {
  const Settings& settings = run.plan.settings;
  const bool is_tf32 = settings.precision == Precision::fp32 && run.request.device != "cpu" && settings.tf32;
  return is_tf32 ? "tf32" : text_of<&Settings::precision>(settings.precision);
}

// How long a product of this side would take at the best rate so far; 0 before the first.
double expected_ns(const CellResult& result, const ProductShape& shape) {
  double best_tflop_per_s = 0;
  for (const ProbeMeasurement& measurement : result.measurements) {
    for (const double sample : measurement.samples) best_tflop_per_s = std::max(best_tflop_per_s, sample);
  }
  return best_tflop_per_s > 0 ? shape.flop() / (best_tflop_per_s * 1e3) : 0;
}

}  // namespace

ModelFlops model_flops_of(const Training& run) {
  ModelFlops flops;
  flops.samples = run.batches.micro_batch_size() * run.layout().micro_batches();
  flops.convention = kFlopConvention;
  flops.dtype = product_dtype_of(run);
  if (run.plan.settings.sequence_lengths != SampleLengths::fixed) {
    flops.missing = "the length of sequences changes with the step, and the operations with it";
    return flops;
  }
  flops.flops_per_step =
      run.layout().micro_batches() * run.plan.model.flops_per_step(run.plan.preset, run.batches.micro_batch_size());
  if (flops.flops_per_step == 0) flops.missing = "the model has no formula for its operations";
  return flops;
}

void measure_gemm_peak(Training& run) {
  const auto dtypes = product_dtypes();
  const auto dtype = std::ranges::find(dtypes, run.result.model_flops.value().dtype, &ProductDtype::name);
  CellRequest request = run.request;
  request.workload.samples = request.gemm_peak_samples;
  ProbeRun probe(request, run.folder, *run.plan.device, run.trace, run.result);
  const auto sides = probe.on_cpu() ? std::span<const std::int64_t>(kSidesOnCpu) : kSidesOnGpu;
  for (const std::int64_t side : sides) {
    const ProductShape shape{side, side, side};
    if (expected_ns(run.result, shape) > kLongestCallNs) return;
    if (run.plan.device->free_bytes() < side * side * kBytesAnElement) return;
    measure_products(probe, shape, {dtype, 1}, /*through_libraries=*/false);
  }
}

}  // namespace reprobench
