// For tests of explanations: two sides trained by the synthetic network, compared and explained.
#pragma once

#include <limits>
#include <string>

#include "matrix/inquiry/explanation.hpp"
#include "matrix/inquiry/scripted_replays.hpp"

namespace reprobench {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline ExplainSettings explained(int batches = 0) {
  ExplainSettings settings;
  settings.explain = true;
  settings.lockstep_batches = batches;
  return settings;
}

// "stack-b" against "stack-a", which is the network as it is.
inline CellComparison compare_stacks(ScriptedReplays& replays, const ExplainSettings& settings,
                                     const CellRequest& request = synthetic_request()) {
  return compare_cells(replays.side("stack-b", request), replays.side("stack-a", request), settings, replays);
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace reprobench
