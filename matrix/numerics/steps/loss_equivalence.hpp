// Class D: after the horizon, bits and distances prove nothing, but the loss curves of several seeds must be shown to
// be equivalent. The test takes mean losses over windows of steps: two one-sided t-tests (stats/tost.hpp), with Holm's
// correction over the windows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"
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

template <>
struct Description<LossWindow> {
  static constexpr About about = About::part("loss_window");
  static void fields(auto& field, LossWindow& window) {
    field("first_step", window.first_step, rule::at_least(1));
    field("last_step", window.last_step, rule::at_least(1));
    field("difference", window.result.difference);
    field("low", window.result.low);
    field("high", window.result.high);
    field("margin", window.result.margin);
    field("p_value", window.result.p_value);
    field("equivalent", window.result.equivalent);
  }
};

struct LossEquivalence {
  bool equivalent = false;
  std::string sentence;
  int seeds = 0;
  double margin_rel = kLossMarginRel;
  std::vector<LossWindow> windows;  // empty: could not be tested, the sentence says why
};

template <>
struct Description<LossEquivalence> {
  static constexpr About about = About::part("equivalence");
  static void fields(auto& field, LossEquivalence& equivalence) {
    field("equivalent", equivalence.equivalent);
    field("sentence", equivalence.sentence);
    field("seeds", equivalence.seeds, rule::at_least(0));
    field("margin_rel", equivalence.margin_rel);
    field("windows", equivalence.windows, "Empty: could not be tested, the sentence says why.");
  }
};

// `measured[i]` and `expected[i]` are traces of one seed. A window has kLossWindowSteps, or a quarter of the run if it
// is shorter than four of them. The steps after the last whole window are left out.
LossEquivalence loss_equivalence(std::span<const Trace* const> measured, std::span<const Trace* const> expected,
                                 double margin_rel = kLossMarginRel);

}  // namespace reprobench
