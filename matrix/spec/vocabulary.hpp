// The names a spec file may use. The spec layer knows no metric and no model itself: the caller hands in what exists.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/metric.hpp"

namespace reprobench {

struct Vocabulary {
  std::span<const MetricInfo> metrics;
  std::vector<std::string> models = {};  // folders of models/; empty: any name is accepted
  std::vector<std::string> stacks = {};  // names of stack files; empty: any name is accepted
  // Of each model, as the installed workers describe them. A model that is not here: any name is accepted.
  std::map<std::string, std::vector<std::string>> presets = {};
  // Of each described model the data set that a file of the user's may stand in for; empty: none may.
  std::map<std::string, std::string> takes_data = {};
  // The same of whose names a file of weights has; empty: none is read.
  std::map<std::string, std::string> takes_weights = {};
};

}  // namespace reprobench
