#include "suites/worker/probes/call_output.hpp"

#include <cmath>

#include <ATen/core/Tensor.h>

#include "suites/worker/record/host_tensor.hpp"
#include "suites/worker/record/tensor_record.hpp"

namespace reprobench {
namespace {

// Sums over residues of 64 add up to sums over residues of 8: fewer of them, and as good as they are many.
std::vector<double> folded_sums(const at::Tensor& tensor) {
  const Sketch sketch = sketch_of(tensor);
  std::vector<double> sums(kCallSums, 0);
  for (std::size_t i = 0; i < sketch.signed_sums.size(); ++i) sums[i % kCallSums] += sketch.signed_sums[i];
  return sums;
}

}  // namespace

CallOutput record_of(const std::string& name, const at::Tensor& tensor) {
  CallOutput output;
  output.name = name;
  output.dtype = dtype_name(tensor);
  output.shape = tensor.sizes().vec();
  output.digest = to_hex(digest_of(tensor));
  output.sums = folded_sums(tensor);
  output.l2 = sketch_of(tensor).l2;
  return output;
}

void hold_against(const at::Tensor& exact, const at::Tensor& made, CallOutput& output) {
  if (exact.scalar_type() != at::kDouble || exact.sizes() != made.sizes()) {
    output.no_fp64 = "in fp64 it has another type or shape";
    return;
  }
  const at::Tensor wide = on_host(made.to(at::kDouble));  // exact
  const at::Tensor reference = on_host(exact);
  const auto* x = static_cast<const double*>(wide.data_ptr());
  const auto* h = static_cast<const double*>(reference.data_ptr());
  double error_squares = 0;
  double reference_squares = 0;
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    if (std::isfinite(x[i]) && std::isfinite(h[i])) {
      error_squares += (x[i] - h[i]) * (x[i] - h[i]);
      reference_squares += h[i] * h[i];
    } else if (x[i] != h[i] && !(std::isnan(x[i]) && std::isnan(h[i]))) {
      ++output.not_finite_mismatches;
    }
  }
  if (reference_squares == 0 && error_squares > 0) {
    output.no_fp64 = "in fp64 it is zero throughout, to which no error is relative";
    return;
  }
  output.error_rel = error_squares > 0 ? std::sqrt(error_squares / reference_squares) : 0;
  output.fp64_sums = folded_sums(exact);
}

}  // namespace reprobench
