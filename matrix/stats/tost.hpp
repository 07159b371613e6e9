// Two one-sided t-tests (Schuirmann 1987): is the difference of two means shown to lie within +-margin?
//
// Not finding a difference proves nothing; here equivalence has to be shown. It is shown at level alpha exactly if the
// 1 - 2 alpha interval of the difference lies within the margin.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace reprobench {

struct Equivalence {
  double difference = 0;  // mean of measured - mean of reference
  double low = 0;         // equivalence interval: the smallest and largest difference not rejected, 1 - 2 alpha
  double high = 0;
  double margin = 0;
  double degrees_of_freedom = 0;
  double p_value = 1;  // the larger one of the two one-sided tests
  bool equivalent = false;
};

// Pairs by index (same seed): a t-test of the differences. Nothing for fewer than two pairs, unequal lengths, a value
// that is not finite or a margin that is not positive.
std::optional<Equivalence> tost_paired(std::span<const double> measured, std::span<const double> reference,
                                       double margin, double alpha = 0.05);

// Independent samples with unequal variances (Welch).
std::optional<Equivalence> tost_unpaired(std::span<const double> measured, std::span<const double> reference,
                                         double margin, double alpha = 0.05);

// Holm's step-down adjusted p-values, in the order of the input: all windows whose value is <= alpha may be claimed
// together at level alpha.
std::vector<double> holm_adjusted(std::span<const double> p_values);

enum class Samples { paired, independent };

struct CurveEquivalence {
  std::vector<Equivalence> windows;  // `p_value` and `equivalent` are Holm's; the intervals are each window's own
  bool equivalent = false;           // all windows are
};

// Loss curves: measured[w][seed] is the mean loss of one run in window w. The margin is `margin_rel` of the reference's
// mean in each window. Nothing if there is no window or one cannot be tested.
std::optional<CurveEquivalence> equivalent_curves(std::span<const std::vector<double>> measured,
                                                  std::span<const std::vector<double>> reference, Samples samples,
                                                  double margin_rel, double alpha = 0.05);

}  // namespace reprobench
