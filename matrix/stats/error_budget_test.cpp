#include "matrix/stats/error_budget.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

constexpr double kFp32 = 0x1p-24;

// Errors of one tensor over K batches: batches differ in scale, both stacks share that scale, and each error is the
// norm of `count` independent element errors times 5 % that belong to neither count nor scale.
struct ErrorModel {
  explicit ErrorModel(std::uint64_t seed) : generator(seed) {}

  BatchErrors draw(int batches, int count, double true_ratio, double scale_sd = 0.3) {
    std::normal_distribution<double> normal;
    std::chi_squared_distribution<double> squares(count);
    const auto norm = [&] { return std::sqrt(squares(generator) / count) * std::exp(0.05 * normal(generator)); };
    BatchErrors errors;
    for (int k = 0; k < batches; ++k) {
      const double scale = 4e-7 * std::exp(scale_sd * normal(generator));
      errors.candidate.push_back(true_ratio * scale * norm());
      errors.reference.push_back(scale * norm());
    }
    return errors;
  }

  std::mt19937_64 generator;
};

struct CellTrials {
  int tensors = 50;
  int batches = 16;
  int count = 200;
  double clean_ratio = 1;
  double scale_sd = 0.3;
  PooledOptions options{50, 1e-3, kLegitimateRatio};

  // Cells of `cells` with a defect found in a clean tensor.
  int false_alarms(int cells, std::uint64_t seed) const {
    ErrorModel model(seed);
    int alarms = 0;
    for (int cell = 0; cell < cells; ++cell) {
      bool alarm = false;
      for (int tensor = 0; tensor < tensors; ++tensor) {
        const auto pooled = pooled_ratio(model.draw(batches, count, clean_ratio, scale_sd), count, kFp32);
        alarm = alarm || decide_pooled(*pooled, options).decision == BudgetDecision::defect;
      }
      alarms += alarm;
    }
    return alarms;
  }
};

TEST_CASE("the bounds are those of class B2", "[stats]") {
  const PrecisionBounds* fp32 = find_precision_bounds("fp32");
  REQUIRE(fp32 != nullptr);
  CHECK(fp32->phi == 1e-6);
  CHECK(fp32->max_ratio == 2);
  CHECK(fp32->max_ratio_small == 3);
  CHECK(find_precision_bounds("bf16")->max_ratio == 3);
  CHECK(find_precision_bounds("fp8_e4m3")->phi == 1.5e-2);
  CHECK(find_precision_bounds("fp17") == nullptr);
}

TEST_CASE("a tensor near zero is measured against its role, not against itself", "[stats]") {
  CHECK(relative_l2(4, 16, 100, 1) == Approx(0.5));
  CHECK(relative_l2(4e-24, 0, 100, 1) == Approx(0.2));
  CHECK(relative_l2(0, 0, 100, 0) == 0);
  CHECK(std::isinf(relative_l2(1, 0, 100, 0)));
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(relative_l2(infinite, infinite, 100, 0) == infinite);
  CHECK(relative_l2(std::nan(""), 1, 100, 0) == infinite);
  CHECK(relative_l2(1, infinite, 100, 0) == 0);
  CHECK(relative_distance(4, 16, 0) == Approx(0.5));
  CHECK(relative_distance(0, 0, 0) == 0);
  CHECK(std::isinf(relative_distance(1, 0, 0)));
  CHECK(std::isinf(relative_distance(0, 16, 1)));
  CHECK(std::isinf(relative_distance(std::nan(""), 16, 0)));
}

TEST_CASE("the noise floor is of a tensor's own length, and of its role where its exact value is zero", "[stats]") {
  CHECK(noise_floor(16, 100, 1, 1e-6) == 1e-6);
  CHECK(noise_floor(1e-20, 100, 1, 1e-6) == 1e-6);  // a length of 1e-10, and zero is 10 * 1e-12
  CHECK(noise_floor(1.1e-22, 100, 1, 1e-6) == 1e-6);
  CHECK(noise_floor(0.9e-22, 100, 1, 1e-6) == Approx(1e6));
  CHECK(noise_floor(0, 100, 1, 1e-3) == Approx(1e9));
  CHECK(noise_floor(0.9e-22, 100, 0.5, 1e-6) == 1e-6);
  // An error of 2e-6 of the role's RMS is twice the floor, whatever the exact length is.
  CHECK(relative_l2(4e-10, 0, 100, 1) / noise_floor(0, 100, 1, 1e-6) == Approx(2));
}

TEST_CASE("the error ratio has a floor and the triangle finds tensors that were mixed up", "[stats]") {
  CHECK(error_budget(3e-6, 2e-6, 4e-6, 1e-6).error_ratio == Approx(1.5));
  CHECK(error_budget(3e-7, 1e-9, 3e-7, 1e-6).error_ratio == Approx(0.3));
  CHECK(error_budget(3e-6, 2e-6, 4e-6, 1e-6).triangle == Approx(0.8));
  CHECK(error_budget(1e-6, 1e-6, 1, 1e-6).triangle > kLargestTriangle);
  CHECK(error_budget(0, 0, 0, 1e-6).triangle == 0);
}

TEST_CASE("the pooled ratio is that of the root mean squares", "[stats]") {
  const auto pooled = pooled_ratio({{3e-7, 4e-7}, {1e-7, 1e-7}}, 1'000'000, kFp32);
  REQUIRE(pooled);
  CHECK(pooled->ratio == Approx(std::sqrt(12.5)));
  // Leaving one out gives ln 4 and ln 3; their jackknife spread is sqrt(2) * (ln 4 - ln 3) / sqrt(2).
  CHECK(pooled->spread_log == Approx(std::log(4.0 / 3.0) / std::sqrt(2.0)));
  CHECK(pooled->effective_batches == Approx(729.0 / 389.0));
}

TEST_CASE("errors below one rounding of the result are no difference", "[stats]") {
  const BatchErrors exact_reference{{1e-9, 2e-9, 1e-9}, {0, 0, 0}};
  CHECK(pooled_ratio(exact_reference, 10, kFp32)->ratio == 1);
  const BatchErrors both_exact{{0, 0}, {0, 0}};
  CHECK(pooled_ratio(both_exact, 10, kFp32)->ratio == 1);
}

TEST_CASE("errors that cannot be pooled leave no ratio", "[stats]") {
  CHECK_FALSE(pooled_ratio({{1}, {1}}, 10, kFp32));
  CHECK_FALSE(pooled_ratio({{1, 2}, {1}}, 10, kFp32));
  CHECK_FALSE(pooled_ratio({{1, -1}, {1, 1}}, 10, kFp32));
  CHECK_FALSE(pooled_ratio({{1, 2}, {1, std::numeric_limits<double>::quiet_NaN()}}, 10, kFp32));
}

TEST_CASE("the bound tightens with batches and widens with tensors", "[stats]") {
  const PooledOptions one{1, 1e-3, kLegitimateRatio};
  const PooledOptions fifty{50, 1e-3, kLegitimateRatio};
  CHECK(pooled_bound(0.1, 64, 64, one) < pooled_bound(0.1, 16, 16, one));
  CHECK(pooled_bound(0.1, 16, 16, one) < pooled_bound(0.1, 16, 16, fifty));
  CHECK(pooled_bound(0.1, 16, 16, one) < pooled_bound(0.1, 16, 4, one));
  CHECK(pooled_bound(0, 16, 16, fifty) == Approx(kLegitimateRatio));
  CHECK(std::isinf(pooled_bound(0.1, 1, 1, one)));
}

// Against values by hand. t(15, 0.001) = 3.732834 and t(15, 0.05) = 1.753050 (tables of Student's t).
TEST_CASE("the bound and the upper limit are those of Student's t", "[stats]") {
  const PooledOptions one{1, 1e-3, kLegitimateRatio};
  CHECK(pooled_bound(0.1, 16, 16, one) == Approx(1.05 * std::exp(3.732834 * 0.1 / 4)));
  // Ten tensors judged at 1e-2 have the bound of one judged at 1e-3.
  CHECK(pooled_bound(0.1, 16, 16, {10, 1e-2, kLegitimateRatio}) == Approx(pooled_bound(0.1, 16, 16, one)));
  CHECK(pooled_bound(0.1, 16, 16, {0, 1e-3, kLegitimateRatio}) == pooled_bound(0.1, 16, 16, one));
  CHECK_FALSE(std::isinf(pooled_bound(0.1, 2, 2, one)));

  const PooledDecision fine = decide_pooled({1.02, 0.1, 16, 16}, one);
  CHECK(fine.decision == BudgetDecision::rounding);
  CHECK(fine.bound == pooled_bound(0.1, 16, 16, one));
  CHECK(fine.upper == Approx(1.02 * std::exp(1.753050 * 0.1 / 4)));
  CHECK(fine.batches_needed == 0);
  CHECK(fine.reason == "a defect of rounding size would have shown");

  const PooledDecision bad = decide_pooled({1.16, 0.1, 16, 16}, one);  // the bound is 1.1527
  CHECK(bad.decision == BudgetDecision::defect);
  CHECK(bad.batches_needed == 0);
  CHECK(bad.reason == "the pooled error is larger than any order of summation explains");
  CHECK(decide_pooled({1.15, 0.1, 16, 16}, one).decision == BudgetDecision::rounding);
}

TEST_CASE("how many batches would decide is as many as shrink both limits into the room between", "[stats]") {
  const PooledOptions one{1, 1e-3, kLegitimateRatio};
  // Widths 3.732834 * 0.5 / 4 and 1.753050 * 0.5 / 4 together 0.685736, the room ln(1.24 / 1.05) = 0.166321.
  const PooledDecision wide = decide_pooled({1.0, 0.5, 16, 16}, one);
  CHECK(wide.decision == BudgetDecision::inconclusive);
  CHECK(wide.batches_needed == 272);  // 16 * (0.685736 / 0.166321)^2 = 271.98
  CHECK(wide.reason == "the errors of these batches vary too much to tell a defect of rounding size");
  // Where a legitimate ratio is as large as a defect, no number of batches tells them apart.
  CHECK(decide_pooled({1.3, 0.1, 16, 16}, {1, 1e-3, 1.3}).batches_needed == 0);
  CHECK(decide_pooled({1.0, 0.5, 16, 1}, one).batches_needed == 0);
}

TEST_CASE("eight batches are enough to decide and seven are not", "[stats]") {
  const PooledOptions one{1, 1e-3, kLegitimateRatio};
  const PooledDecision seven = decide_pooled({5, 0.01, 7, 7}, one);
  CHECK(seven.decision == BudgetDecision::inconclusive);
  CHECK(std::isinf(seven.upper));
  CHECK(seven.batches_needed == 8);
  CHECK(seven.reason == "pooling needs 8 batches or more");
  CHECK(decide_pooled({5, 0.01, 8, 8}, one).decision == BudgetDecision::defect);
}

TEST_CASE("the spread is never believed to be less than independent elements have", "[stats]") {
  const BatchErrors alike{{2e-6, 2e-6, 2e-6}, {1e-6, 1e-6, 1e-6}};
  const auto pooled = pooled_ratio(alike, 400, kFp32);
  REQUIRE(pooled);
  CHECK(pooled->ratio == Approx(2));
  CHECK(pooled->spread_log == Approx(1.0 / 20));
  CHECK(pooled->batches == 3);
  CHECK(pooled->effective_batches == Approx(3));
  CHECK(pooled_ratio(alike, 0, kFp32)->spread_log == 1);  // no elements count as one
  // Two exact sides have no batches that dominate.
  CHECK(pooled_ratio({{0, 0, 0}, {0, 0, 0}}, 10, kFp32)->effective_batches == 3);
}

TEST_CASE("one side's floor is 0.29 of the unit roundoff, the other keeps its error", "[stats]") {
  const double floor = 0.29 * kFp32;
  CHECK(pooled_ratio({{1e-6, 1e-6}, {0, 0}}, 10, kFp32)->ratio == Approx(1e-6 / floor));
  CHECK(pooled_ratio({{0, 0}, {1e-6, 1e-6}}, 10, kFp32)->ratio == Approx(floor / 1e-6));
  // Below the floor nothing varies, so the least spread remains.
  CHECK(pooled_ratio({{1e-9, 5e-9}, {0, 0}}, 100, kFp32)->spread_log == Approx(0.1));
}

TEST_CASE("an infinite error cannot be pooled on either side", "[stats]") {
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK_FALSE(pooled_ratio({{1, infinite}, {1, 1}}, 10, kFp32));
  CHECK_FALSE(pooled_ratio({{1, 1}, {infinite, 1}}, 10, kFp32));
  CHECK_FALSE(pooled_ratio({{1, 1}, {1, -1}}, 10, kFp32));
  CHECK_FALSE(pooled_ratio({{1, 1, 1}, {1, 1}}, 10, kFp32));
  CHECK(pooled_ratio({{0, 1}, {1, 1}}, 10, kFp32));
}

TEST_CASE("the bounds of every precision are those on record", "[stats]") {
  REQUIRE(precision_bounds().size() == 5);
  struct Row {
    const char* precision;
    double unit_roundoff;
    double phi;
    double max_ratio;
  };
  for (const Row& row : {Row{"fp32", 0x1p-24, 1e-6, 2}, Row{"tf32", 0x1p-11, 1e-4, 2}, Row{"bf16", 0x1p-8, 1e-3, 3},
                         Row{"fp16", 0x1p-11, 1e-4, 2}, Row{"fp8_e4m3", 0x1p-4, 1.5e-2, 3}}) {
    INFO(row.precision);
    const PrecisionBounds* bounds = find_precision_bounds(row.precision);
    REQUIRE(bounds != nullptr);
    CHECK(bounds->unit_roundoff == row.unit_roundoff);
    CHECK(bounds->phi == row.phi);
    CHECK(bounds->max_ratio == row.max_ratio);
    CHECK(bounds->max_ratio_small == 3);
  }
}

TEST_CASE("clean cells raise no more false alarms than stated, even at the largest legitimate ratio", "[stats]") {
  CHECK(CellTrials{}.false_alarms(500, 11) == 0);
  CellTrials at_the_edge;
  at_the_edge.clean_ratio = kLegitimateRatio;
  CHECK(at_the_edge.false_alarms(500, 12) <= 2);
  // Batches whose scales differ by orders of magnitude: few of them carry the sums.
  at_the_edge.scale_sd = 1.0;
  CHECK(at_the_edge.false_alarms(300, 13) <= 2);
  // Tensors of a few elements.
  at_the_edge.count = 3;
  at_the_edge.scale_sd = 0.3;
  CHECK(at_the_edge.false_alarms(300, 14) <= 2);
}

TEST_CASE("without the correction for many tensors and chance the same cells would raise alarms", "[stats]") {
  CellTrials careless;
  careless.clean_ratio = kLegitimateRatio;
  careless.options.tensors = 1;
  careless.options.alpha = 0.05;
  CHECK(careless.false_alarms(50, 15) > 20);
}

TEST_CASE("an error a quarter too large in one tensor of fifty is found within 64 batches", "[stats]") {
  ErrorModel model(16);
  for (const int count : {64, 1000, 100'000}) {
    for (int trial = 0; trial < 10; ++trial) {
      for (int tensor = 0; tensor < 50; ++tensor) {
        const double true_ratio = tensor == 31 ? 1.25 : 1.0;
        const auto pooled = pooled_ratio(model.draw(64, count, true_ratio), count, kFp32);
        const PooledDecision decision = decide_pooled(*pooled, {50, 1e-3, kLegitimateRatio});
        REQUIRE((decision.decision == BudgetDecision::defect) == (tensor == 31));
        if (tensor != 31) REQUIRE(decision.decision == BudgetDecision::rounding);
      }
    }
  }
}

TEST_CASE("a tensor too small to decide is inconclusive and says how many batches would do", "[stats]") {
  ErrorModel model(17);
  const auto pooled = pooled_ratio(model.draw(16, 1, 1.0), 1, kFp32);
  const PooledDecision decision = decide_pooled(*pooled, {50, 1e-3, kLegitimateRatio});
  CHECK(decision.decision == BudgetDecision::inconclusive);
  CHECK(decision.batches_needed > 16);
  const auto few = pooled_ratio(model.draw(4, 1000, 5.0), 1000, kFp32);
  CHECK(decide_pooled(*few, {1, 1e-3, kLegitimateRatio}).decision == BudgetDecision::inconclusive);
  CHECK(decide_pooled(*few, {1, 1e-3, kLegitimateRatio}).batches_needed == kFewestPooledBatches);
}

TEST_CASE("an error that an order of summation may leave is no defect, one four times as large is", "[stats]") {
  CHECK(order_error_rel(0) == 0);
  CHECK(order_error_rel(-1) == 0);
  CHECK(order_error_rel(25088) == Approx(158.392 * 0x1p-24));
  PooledRatio ratio{8.2, 0.1, 16, 16};
  ratio.candidate_error_rel = 2e-6;
  PooledOptions options{1, 1e-3, kLegitimateRatioOfOrders};
  CHECK(decide_pooled(ratio, options).decision == BudgetDecision::defect);
  options.order_error_rel = 2e-6;
  CHECK(decide_pooled(ratio, options).decision == BudgetDecision::inconclusive);
  CHECK(decide_pooled(ratio, options).reason == "an order of summation may leave an error of this size");
  CHECK_FALSE(decide_pooled(ratio, options).is_left_open);
  // Terms that cancel may leave more: neither is shown.
  for (const double left : {std::nextafter(2e-6, 0), 2e-6 / kCancellationOfOrders}) {
    options.order_error_rel = left;
    CHECK(decide_pooled(ratio, options).decision == BudgetDecision::inconclusive);
    CHECK(decide_pooled(ratio, options).is_left_open);
  }
  options.order_error_rel = std::nextafter(2e-6 / kCancellationOfOrders, 0);
  CHECK(decide_pooled(ratio, options).decision == BudgetDecision::defect);
  CHECK_FALSE(decide_pooled(ratio, options).is_left_open);
  // A small ratio is rounding as before.
  ratio.ratio = 1;
  options.order_error_rel = 1;
  CHECK(decide_pooled(ratio, options).decision == BudgetDecision::rounding);
}

TEST_CASE("the largest ratio of two orders is that of the worst to one rounding, and twice at least", "[stats]") {
  CHECK(largest_ratio_of_orders(0) == kLegitimateRatioOfOrders);
  CHECK(largest_ratio_of_orders(25088) == Approx(158.392 / 0.29));
}

TEST_CASE("few errors may be far above what is usual by chance, many may not", "[stats]") {
  CHECK(largest_by_chance(1, 0.05) == Approx(1.959964));
  CHECK(largest_by_chance(2, 1e-6) == Approx(std::sqrt(-std::log(1e-6))));
  CHECK(largest_by_chance(4096, 4e-7) == Approx(1.055).margin(0.005));
}

TEST_CASE("how many errors are drawn apart is told by how they spread over batches", "[stats]") {
  const BatchChance alike = batch_chance({3, 3, 3, 3}, 4096);
  CHECK(alike.usual == 3);
  CHECK(alike.independent == 4096);
  // Squares 1, 1, 1, 5: mean 2, variance 3.
  const BatchChance apart = batch_chance({1, 1, 1, std::sqrt(5.0)}, 4096);
  CHECK(apart.usual == Approx(std::sqrt(2.0)));
  CHECK(apart.independent == Approx(2 * 4 / 3.0));
  CHECK(batch_chance({1, 1, 1, std::sqrt(5.0)}, 2).independent == 2);
  const BatchChance broken = batch_chance({1, 1, 1, 100}, 4096);
  CHECK(broken.usual == 2);  // twice the median, where the RMS is 50
  CHECK(broken.independent == 1);
  CHECK(batch_chance({0, 0}, 0).independent == 1);
  CHECK(batch_chance({}, 7).usual == 0);
}

TEST_CASE("what is pooled keeps the candidate's own error", "[stats]") {
  const BatchErrors errors{{3e-7, 4e-7, 3e-7, 4e-7}, {1e-7, 1e-7, 1e-7, 1e-7}};
  CHECK(pooled_ratio(errors, 1000, kFp32)->candidate_error_rel == Approx(std::sqrt(12.5) * 1e-7));
}

TEST_CASE("a ratio is learned with its uncertainty where it lies above the usual one, so that other batches pass",
          "[stats]") {
  ErrorModel model(18);
  const auto drawn = [&](double excess) { return *pooled_ratio(model.draw(32, 1000, excess), 1000, kFp32); };
  for (int tensor = 0; tensor < 50; ++tensor) {
    const double apart = learned_ratio(drawn(1.3));
    CHECK(apart > 1.3 * 0.98);
    CHECK(apart < 1.3 * 1.1);
    // Other batches of the same two runs are no defect under it, and a defect of twice that stays one.
    CHECK(decide_pooled(drawn(1.3), {50, 1e-3, apart}).decision != BudgetDecision::defect);
    CHECK(decide_pooled(drawn(2.6), {50, 1e-3, apart}).decision == BudgetDecision::defect);
    CHECK(learned_ratio(drawn(1.0)) == kLegitimateRatio);
  }
}

TEST_CASE("the learned ratio is the upper limit where the lower one is above the usual ratio", "[stats]") {
  // t(15, 0.05) = 1.753050; its width with a spread of 0.1 over 16 batches is 0.043826.
  CHECK(learned_ratio({1.5, 0.1, 16, 16}) == Approx(1.5 * std::exp(0.04382625)));
  CHECK(learned_ratio({1.05 * std::exp(0.0439), 0.1, 16, 16}) > 1.14);
  CHECK(learned_ratio({1.05 * std::exp(0.0438), 0.1, 16, 16}) == kLegitimateRatio);
  CHECK(learned_ratio({1.5, 0.1, kFewestPooledBatches, 8}) > 1.5);
  CHECK(learned_ratio({1.5, 0.1, kFewestPooledBatches - 1, 7}) == kLegitimateRatio);
  CHECK(learned_ratio({9, 0.1, 16, 1.9}) == kLegitimateRatio);  // one batch has all the error: nothing is known
}

}  // namespace
}  // namespace reprobench
