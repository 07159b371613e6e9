// The same product for as long as the preset says. Every result is compared with the first, bit for bit. The same
// computation must give the same result each time, so a single flipped bit is a defect of the device (or of its
// memory).
#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/exact_product.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

double duration_ns(const ProbeRun& run) { return run.request().workload.preset == "long" ? 60e9 : 2e9; }

// Flips the lowest bit of one element.
void flip_bit(at::Tensor& product, std::int64_t element) {
  at::Tensor words = product.view({-1}).view(at::kInt);
  words[element % words.numel()].bitwise_xor_(1);
}

struct Mismatch {
  std::int64_t elements = 0;
  std::int64_t first = 0;
};

// By bits: two equal NaNs are equal.
Mismatch mismatch(const at::Tensor& product, const at::Tensor& first) {
  const at::Tensor differs = product.view({-1}).view(at::kInt).ne(first.view({-1}).view(at::kInt));
  Mismatch found{differs.sum().item<std::int64_t>(), 0};
  if (found.elements > 0) found.first = differs.to(at::kByte).argmax().item<std::int64_t>();
  return found;
}

class StressedProduct {
 public:
  StressedProduct(ProbeRun& run, std::int64_t side)
      : run_(run),
        a_(run.random_normal("stress.a", {side, side})),
        b_(run.random_normal("stress.b", {side, side})),
        product_(at::empty({side, side}, a_.options())),
        flop_(2.0 * static_cast<double>(side * side * side)) {
    const std::string text = std::to_string(side);
    measurement_ = run.blank("repeated_gemm", {{"dtype", "fp32"}, {"shape", text + "x" + text + "x" + text}});
  }

  void run() {
    if (check_first()) {
      repeat();
      run_.tell_algorithm([this] { return multiply(); }, measurement_);  // the last thing: nothing is timed after it
    }
    run_.add(std::move(measurement_));
  }

 private:
  at::Tensor multiply() { return at::mm_out(product_, a_, b_); }

  bool check_first() {
    multiply();
    const double bound = product_error_bound_rel("fp32", a_.size(1));
    const Correctness correctness = close_to(product_, exact_product(a_, b_), bound);
    measurement_.error_rel = correctness.error_rel;
    measurement_.error_bound_rel = correctness.bound_rel;
    measurement_.finding = correctness.finding;
    measurement_.status = correctness.right ? MeasurementStatus::measured : MeasurementStatus::wrong;
    first_ = product_.clone();
    return correctness.right;
  }

  // A sample is the median rate of the products in its slice of the duration; comparisons are not timed.
  void repeat() {
    const std::int64_t samples = run_.request().workload.samples;
    const double slice_ns = duration_ns(run_) / static_cast<double>(samples);
    const Injection* fault = run_.planted("result_bit", "repeated_gemm");
    Mismatch worst;
    std::int64_t worst_sample = 0;
    measurement_.timed_from_ns = run_.now_ns();
    for (std::int64_t sample = 1; sample <= samples; ++sample) {
      double busy_ns = 0;
      std::int64_t products = 0;
      while (products == 0 || busy_ns < slice_ns) {
        busy_ns += run_.time_ns([&] { return multiply(); }, 1);
        ++products;
        if (fault != nullptr && fault->step == sample && products == 1) flip_bit(product_, fault->element);
        const Mismatch found = mismatch(product_, first_);
        ++measurement_.results_compared;
        if (found.elements > 0) ++measurement_.results_differing;
        if (found.elements > worst.elements) {
          worst = found;
          worst_sample = sample;
        }
      }
      measurement_.samples.push_back(in_unit(measurement_.unit, flop_ * static_cast<double>(products), busy_ns));
      run_.progress(measurement_);
      if (take_stop_request()) throw RunFailure("interrupted", "asked to stop while repeating a product");
    }
    measurement_.timed_to_ns = run_.now_ns();
    if (worst.elements == 0) return;
    measurement_.finding = "in sample " + std::to_string(worst_sample) + " " + std::to_string(worst.elements) + " of " +
                           std::to_string(product_.numel()) + " elements differ from the first product, the first at " +
                           std::to_string(worst.first);
  }

  ProbeRun& run_;
  at::Tensor a_;
  at::Tensor b_;
  at::Tensor product_;
  at::Tensor first_;
  double flop_;
  ProbeMeasurement measurement_;
};

}  // namespace

void probe_device_stress(ProbeRun& run) { StressedProduct(run, run.on_cpu() ? 256 : 8192).run(); }

}  // namespace reprobench
