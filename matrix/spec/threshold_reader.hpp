// Reads `thresholds:`. Metric names must be in the vocabulary, and bounds must have the units of their metrics.
#pragma once

#include <vector>

#include "matrix/spec/schema.hpp"
#include "matrix/spec/threshold.hpp"

namespace reprobench {

// Rules in file order. Reports RB020 and RB032 to RB039.
std::vector<ThresholdRule> read_thresholds(const YamlNode& node, Scope& scope);

}  // namespace reprobench
