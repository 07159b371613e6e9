// Class D: after the horizon bits and distances say nothing, but the loss curves of several seeds must be shown to be
// equivalent: mean loss over windows of steps, two one-sided t-tests (stats/tost.hpp), Holm over the windows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/evidence/run_record.hpp"
#include "matrix/stats/tost.hpp"

namespace reprobench {

inline constexpr std::int64_t kLossWindowSteps = 50;
inline constexpr double kLossMarginRel = 0.005;

struct LossWindow {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  Equivalence result;
};

struct LossEquivalence {
  bool equivalent = false;
  std::string sentence;
  int seeds = 0;
  double margin_rel = kLossMarginRel;
  std::vector<LossWindow> windows;  // empty: could not be tested, the sentence says why
};

// `measured[i]` and `expected[i]` are traces of one seed. Windows of kLossWindowSteps, or a quarter of the run where it
// is shorter than four of them; the steps after the last whole window are left out.
LossEquivalence loss_equivalence(std::span<const Trace* const> measured, std::span<const Trace* const> expected,
                                 double margin_rel = kLossMarginRel);

nlohmann::json to_json(const LossEquivalence& equivalence);

}  // namespace reprobench
