#include "matrix/stats/transfer_fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace reprobench {

std::optional<TransferFit> fit_transfers(std::span<const Transfer> transfers) {
  // Minimised is the sum of (startup * x + ns_per_byte * y - 1)^2 with x = 1 / time and y = bytes / time.
  double xx = 0;
  double xy = 0;
  double yy = 0;
  double x_sum = 0;
  double y_sum = 0;
  std::set<double> sizes;
  for (const Transfer& transfer : transfers) {
    if (!(transfer.time_ns > 0)) return std::nullopt;
    const double x = 1 / transfer.time_ns;
    const double y = transfer.bytes / transfer.time_ns;
    xx += x * x;
    xy += x * y;
    yy += y * y;
    x_sum += x;
    y_sum += y;
    sizes.insert(transfer.bytes);
  }
  if (sizes.size() < 3) return std::nullopt;
  const double determinant = xx * yy - xy * xy;
  const double startup_ns = (x_sum * yy - y_sum * xy) / determinant;
  const double ns_per_byte = (y_sum * xx - x_sum * xy) / determinant;
  if (!(startup_ns > 0) || !(ns_per_byte > 0) || !std::isfinite(startup_ns / ns_per_byte)) return std::nullopt;
  TransferFit fit{startup_ns, 1 / ns_per_byte, 1, 0};
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const double fitted_ns = startup_ns + transfers[i].bytes * ns_per_byte;
    const double factor = std::max(fitted_ns / transfers[i].time_ns, transfers[i].time_ns / fitted_ns);
    if (factor <= fit.worst_factor) continue;
    fit.worst_factor = factor;
    fit.worst = i;
  }
  return fit;
}

}  // namespace reprobench
