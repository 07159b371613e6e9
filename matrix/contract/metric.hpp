// The name, unit and good direction of each metric. The table of all metrics, with how each is taken from a record, is
// in verdict/metrics/metrics.cpp. The spec layer gets this part of it, so that a threshold with a wrong name or unit is
// refused before anything runs.
#pragma once

#include <array>
#include <limits>
#include <string_view>

#include "matrix/contract/outcome.hpp"

namespace reprobench {

enum class Better { lower, higher };
template <>
struct Words<Better> {
  static constexpr std::array<std::string_view, 2> table = {"lower", "higher"};
};

// The comparison that is part of a value, before any bound is applied. `numerics.loss_rel` is a distance to the
// reference, so a limit bounds it and it has no regression. `memory.peak_rss` is of the cell alone, so the reference
// bounds it only by a ratio.
enum class Compared { not_yet, with_reference, with_others };

struct MetricInfo {
  std::string_view name;  // "throughput.step_time"
  std::string_view unit;  // "ns", "bytes", "1/s", "rel" (a ratio), "count", "step", "GB/s", "TFLOP/s", "J"
  Better better = Better::lower;
  Dimension dimension = Dimension::numerics;
  std::string_view summary;
  // For metrics of a probe's measurements: the unit of the operations that a threshold's `of` may name, or "any" for
  // all of them. Empty for metrics of a training, where `of` is refused.
  std::string_view operation_unit = {};
  bool is_share = false;  // a threshold names the whole by `to`
  Compared compared = Compared::not_yet;
  double least = 0;  // least measurable value, in `unit`; a bound outside least..most can never fail
  double most = std::numeric_limits<double>::infinity();
};

// Metrics that are a share of the speed of matrix products. A threshold on one of these has matrix products timed after
// the training.
inline constexpr std::array<std::string_view, 2> kSharesOfGemmPeak = {"throughput.gemm_peak_share", "throughput.mfu"};

// A threshold on this metric makes the worker measure it, which takes as long as drawing the initial values.
inline constexpr std::string_view kWeightChange = "numerics.weight_change_rel";

}  // namespace reprobench
