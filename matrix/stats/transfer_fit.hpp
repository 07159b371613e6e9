// The time of a transfer as a startup time and a bandwidth: t(S) = startup + S / bandwidth (Hockney 1994, "The
// communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20). Two stacks that differ in the
// first differ in every small call, those that differ in the second in large ones alone.
//
// Least squares of relative errors: sizes span many powers of two, and the largest would decide everything otherwise.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace reprobench {

struct Transfer {
  double bytes = 0;
  double time_ns = 0;  // positive
};

struct TransferFit {
  double startup_ns = 0;
  double bandwidth_gb_per_s = 0;
  double worst_factor = 1;  // between a measured time and the fitted one, whichever is longer
  std::size_t worst = 0;    // which transfer that is
};

// Nothing for fewer than three sizes, for times of which one is not positive, and for those that no positive startup
// and bandwidth fit.
std::optional<TransferFit> fit_transfers(std::span<const Transfer> transfers);

}  // namespace reprobench
