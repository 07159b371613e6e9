// The names a spec file may use. The spec layer knows no metric and no model itself: the caller hands in what exists.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "matrix/contract/metric.hpp"

namespace reprobench {

struct Vocabulary {
  std::span<const MetricInfo> metrics;
  std::vector<std::string> models;  // folders of models/; empty: any name is accepted
};

}  // namespace reprobench
