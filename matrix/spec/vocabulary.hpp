// The names that a spec file may use. The spec layer knows no metric and no model itself; the caller passes those that
// exist.
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
  // The presets of each model, as the installed workers describe them. For a model that is not here any name is
  // accepted.
  std::map<std::string, std::vector<std::string>> presets = {};
  // For each described model, the data set that a user's file may replace; empty if there is none.
  std::map<std::string, std::string> takes_data = {};
  // For each described model, the published model whose tensor names a file of weights has, such as "Hugging Face
  // GPT-2"; empty if no file is read.
  std::map<std::string, std::string> takes_weights = {};
};

}  // namespace reprobench
