// Rounding or defect: compares the error of a candidate with that of a trusted stack, both measured against an fp64
// rerun.
//
// One batch, class B2: E = e_x / max(e_r, phi) within a coarse bound. Every legitimate order of summation passes, and
// gross defects fail. If the two add up in different orders, e_r is at least that of the reference's worst batch, up to
// twice its median. In one batch of many, one side is lucky and the other is not (measured: E 2.2 of two correct runs).
// A defect of the size of a rounding passes any such bound. It is found by pooling K batches from one state: E = RMS of
// e_x / RMS of e_r concentrates as K grows, while the excess of a defect stays. (Measured on real stacks, K = 32:
// legitimate differences up to 1.04, defects from 1.24 in some tensor.)
//
// The pooled bound. ln E is half the log of a ratio of means over batches. Its standard error s comes from leaving out
// one batch at a time (jackknife, K - 1 degrees of freedom). So nothing is assumed about how errors spread over
// batches, or how the two stacks' errors are related. A tensor is a defect if E > L * exp(t * s). L is the largest
// ratio that counts as legitimate, and t is the quantile of Student's t at 1 - alpha / tensors (Bonferroni). So a whole
// cell whose true ratios are all <= L raises a false alarm with probability <= alpha.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

// Class B2 for one precision (unit roundoff u and noise floor phi are relative).
struct PrecisionBounds {
  std::string_view precision;  // "fp32"
  double unit_roundoff;
  double phi;
  double max_ratio;        // E of one batch
  double max_ratio_small;  // for tensors with fewer than kSmallTensor elements
};

inline constexpr std::int64_t kSmallTensor = 1000;
inline constexpr double kLargestTriangle = 1.01;  // with S above it, the two were not the same tensor
inline constexpr double kLegitimateRatio = 1.05;  // pooled E that another correct order of summation can have
// If the two add up in different orders (threads, vector lanes, fused products, libraries), one may be much closer to
// fp64 than the other, and both are correct. Below order_error_rel() no ratio shows a defect. Above
// kCancellationOfOrders times that, this one does.
inline constexpr double kLegitimateRatioOfOrders = 2.0;
// Terms that cancel leave a smaller sum than terms of random signs, and a larger relative error. Nothing on record says
// how far they do. So an error up to this multiple of order_error_rel() shows neither rounding nor a defect. (Measured:
// weights of a convolution before a batch norm, 2.5 over 32 batches and 7.5 in one of them; suites/results.md.)
inline constexpr double kCancellationOfOrders = 4.0;
inline constexpr std::string_view kWhereTermsCancel =
    "an order of summation may leave an error of this size where terms cancel";
inline constexpr double kSmallestDefect = 1.24;  // pooled E of the smallest defect measured
inline constexpr int kFewestPooledBatches = 8;   // with fewer, the jackknife's quantiles are wider than any defect

std::span<const PrecisionBounds> precision_bounds();
const PrecisionBounds* find_precision_bounds(std::string_view precision);  // null if there is none

// ||a - b|| / max(||b||, sqrt(n) * 1e-12 * global_rms), from sums of squares. 0 for two zero tensors; infinite for a
// difference against an all-zero role.
double relative_l2(double difference_squares, double reference_squares, std::int64_t count, double global_rms);

// RMS error that any order of adding up `terms` products may leave in fp32, relative to the result: sqrt(terms) u. In
// one chain, n roundings of random sign leave about 0.3 of that, for terms of mixed signs and of one sign alike.
// Products that are rounded before they are added at most double the variance. (Measured for GEMM, K = 256 to 4096:
// 0.30 sqrt(K) u; Higham & Mary 2019 for the square root.) 0 for no terms.
double order_error_rel(std::int64_t terms);

// Largest ratio of two such errors if neither is below that of storing an exact result; at least
// kLegitimateRatioOfOrders.
double largest_ratio_of_orders(std::int64_t terms);

// The effect of chance on the error of one batch, estimated from the batches of a trusted side. The error of a matrix
// does not behave like that of as many independent elements, because a few roundings before it reach all of them.
// (Measured: 64 x 64 elements that spread as 6 would.)
struct BatchChance {
  double usual = 0;  // RMS over the batches; at most twice their median, so that one broken batch excuses little
  double independent =
      1;  // as many errors drawn apart spread as these do: 2 / variance of e^2 over its mean; at most `count`
};

BatchChance batch_chance(const std::vector<double>& errors, std::int64_t count);

// The value that the RMS of so many independent errors exceeds with probability `tail`, in units of the usual one: the
// root of chi-squared over its degrees of freedom. 5.1 for one, 2.6 for six and 1.05 for 4096, at 4e-7.
double largest_by_chance(double independent, double tail);

// phi in the units of relative_l2 against an exact tensor: phi of the tensor's own length. There is an exception. A
// softmax does not see a bias of its keys, so the exact gradient of that bias is zero, and both stacks have only
// rounding there. Which of two such vectors is longer is chance (measured between correct stacks: E up to 3.4 in one
// batch of 32, pooled 0.98). So if the exact tensor is below the floor of relative_l2, it is phi of the RMS of its
// role.
double noise_floor(double exact_squares, std::int64_t count, double global_rms, double phi);

// ||a - b|| / ||b|| of two tensors that may have elements that are not finite. A distance that is no number fails every
// test against a bound, but must not be mistaken for a small one. So elements that are NaN or infinite on one side
// alone (`mismatches`), and a difference from an all-zero tensor, give infinity.
double relative_distance(double difference_squares, double reference_squares, std::int64_t mismatches);

struct ErrorBudget {
  double error_ratio = 0;  // E
  double triangle = 0;     // S = delta / (e_x + e_r); 0 if both errors are 0
};

ErrorBudget error_budget(double e_x, double e_r, double delta, double phi);

// The errors of one tensor over K batches.
struct BatchErrors {
  std::vector<double> candidate;  // e_x
  std::vector<double> reference;  // e_r
};

struct PooledRatio {
  double ratio = 1;       // RMS e_x / max(RMS e_r, one rounding of the result); 1 if both are below that
  double spread_log = 0;  // standard error of ln ratio times sqrt(K): comparable across K
  int batches = 0;
  // K if all batches err alike, fewer if some dominate the sums: (sum of w)^2 / (sum of w^2), w = e_x^2 + e_r^2.
  double effective_batches = 0;
  double candidate_error_rel = 0;  // RMS e_x
};

// `unit_roundoff` sets the floor, 0.29 u: the error of storing an exact result. `count` elements with independent
// errors would spread ln E by 1 / sqrt(count); less is never believed. Nothing with fewer than two batches, unequal
// lengths, or an error that is negative or not finite.
std::optional<PooledRatio> pooled_ratio(const BatchErrors& errors, std::int64_t count, double unit_roundoff);

struct PooledOptions {
  int tensors = 1;      // number of tensors judged together in the cell
  double alpha = 1e-3;  // false alarms per cell
  double legitimate_ratio = kLegitimateRatio;
  double order_error_rel = 0;  // errors up to this are no defect, whatever their ratio; 0: both add up in one order
};

// Largest pooled E that is not a defect, for a tensor with this spread. Infinite with fewer than two effective batches.
double pooled_bound(double spread_log, int batches, double effective_batches, const PooledOptions& options);

enum class BudgetDecision { rounding, defect, inconclusive };

struct PooledDecision {
  BudgetDecision decision = BudgetDecision::inconclusive;
  std::string reason;
  bool is_left_open = false;  // inconclusive, and larger than an order of summation leaves unless its terms cancel
  double bound = 0;           // of E
  double upper = 0;           // E's 95 % upper limit: a defect larger than this is excluded
  int batches_needed = 0;     // if inconclusive: about how many would decide; 0 if unknown
};

// defect: E is above the bound, and e_x above what an order of summation may leave of terms that cancel. rounding: E is
// below the bound, and its upper limit below kSmallestDefect, so that a defect of rounding size would have shown.
// inconclusive: neither, or too few batches.
PooledDecision decide_pooled(const PooledRatio& ratio, const PooledOptions& options);

// The ratio that a tensor of two correct runs may have from then on. It is kLegitimateRatio if the tensor's 95 % lower
// limit does not exclude that, or if there are too few batches. Else it is the 95 % upper limit, so that other batches
// of the same two runs pass.
double learned_ratio(const PooledRatio& ratio);

}  // namespace reprobench
