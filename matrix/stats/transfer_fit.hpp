// The time of a transfer as a startup time and a bandwidth: t(S) = startup + S / bandwidth (Hockney 1994, "The
// communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20). Two stacks that differ in the
// startup time differ in every small call. Those that differ in the bandwidth differ only in large ones.
//
// It is fitted by least squares of relative errors. Sizes span many powers of two, and the largest would otherwise
// decide everything.
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
  std::size_t worst = 0;    // the transfer with that factor
};

// Nothing for fewer than three sizes, if one of the times is not positive, or if no positive startup and bandwidth fit.
std::optional<TransferFit> fit_transfers(std::span<const Transfer> transfers);

}  // namespace reprobench
