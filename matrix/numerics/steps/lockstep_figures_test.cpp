// Figures and words of small tensors, worked out by hand.
#include <cmath>
#include <deque>
#include <limits>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/numerics/steps/lockstep.hpp"

namespace reprobench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Three runs of any number of batches; a tensor is given by its exact values and what each side adds to them.
class Runs {
 public:
  Runs& add(std::size_t batch, const std::string& name, const std::vector<double>& exact,
            const std::vector<double>& candidate_error, const std::vector<double>& reference_error) {
    while (batches_.size() <= batch) batches_.emplace_back();
    Batch& to = batches_[batch];
    const auto stored = [&](const std::vector<double>& errors) -> std::vector<float>& {
      std::vector<float>& values = floats_.emplace_back();
      for (std::size_t i = 0; i < exact.size(); ++i) values.push_back(static_cast<float>(exact[i] + errors[i]));
      return values;
    };
    to.candidate.push_back(view(name, "F32", stored(candidate_error)));
    to.reference.push_back(view(name, "F32", stored(reference_error)));
    to.exact.push_back(view(name, "F64", doubles_.emplace_back(exact)));
    return *this;
  }

  Lockstep judge(LockstepOptions options = {}) const {
    std::vector<LockstepBatch> batches;
    for (const Batch& batch : batches_) batches.push_back({batch.candidate, batch.reference, batch.exact, batch.flips});
    return judge_lockstep(batches, options);
  }

  struct Batch {
    std::vector<TensorView> candidate, reference, exact;
    std::string flips = {};
  };
  std::deque<Batch>& batches() { return batches_; }

 private:
  template <class T>
  static TensorView view(const std::string& name, const char* dtype, const std::vector<T>& values) {
    return {name, dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values)), 0};
  }

  std::deque<Batch> batches_;
  std::deque<std::vector<float>> floats_;
  std::deque<std::vector<double>> doubles_;
};

// The exact value is {3, 4}, of length 5; errors that fp32 holds exactly.
Runs& add_five(Runs& runs, std::size_t batch, const std::string& name, double candidate_error, double reference_error) {
  return runs.add(batch, name, {3, 4}, {0, candidate_error}, {0, -reference_error});
}

const LockstepTensor& named(const Lockstep& lockstep, const std::string& name) {
  for (const LockstepTensor& tensor : lockstep.tensors) {
    if (tensor.name == name) return tensor;
  }
  FAIL("no tensor " + name);
  return lockstep.tensors.front();
}

std::vector<std::string> names_of(const Lockstep& lockstep) {
  std::vector<std::string> names;
  for (const LockstepTensor& tensor : lockstep.tensors) names.push_back(tensor.name);
  return names;
}

TEST_CASE("errors, ratio and triangle of two elements are those worked out by hand", "[lockstep]") {
  Runs runs;
  const Lockstep result = add_five(runs, 0, "gradient/w", 0x1p-16, 0x1p-17).judge();
  const LockstepTensor& tensor = result.tensors.at(0);
  CHECK(tensor.dtype == "F32");
  CHECK(tensor.shape == std::vector<std::int64_t>{2});
  CHECK(tensor.e_x == Approx(0x1p-16 / 5));
  CHECK(tensor.e_r == Approx(0x1p-17 / 5));
  CHECK(tensor.delta == Approx(3 * 0x1p-17 / 5));
  CHECK(tensor.error_ratio == Approx(2));
  CHECK(tensor.triangle == Approx(1));
  CHECK(tensor.error_ratio_bound == 3);
  CHECK(tensor.max_ulp == 64);  // 32 of 2^-21 above 4, 32 of 2^-22 below
  CHECK(tensor.ulp_histogram.at(0) == 1);
  CHECK_FALSE(tensor.equal_bits);
  CHECK_FALSE(tensor.pooled);
  CHECK(tensor.reason == "E is at most 2, class B2 allows 3");
  CHECK(result.sentence ==
        "all differences are of rounding size: 1 of 1 tensors differ, worst `gradient/w`: E is at most 2, class B2 "
        "allows 3; in 1 of them 1 batches cannot exclude a defect of rounding size");
}

TEST_CASE("a reference better than the noise floor counts as the floor: 1e-6 in fp32, 1e-4 in fp16", "[lockstep]") {
  Runs runs;
  add_five(runs, 0, "gradient/w", 0x1p-16, 0);
  CHECK(runs.judge().tensors[0].error_ratio == Approx(0x1p-16 / 5 / 1e-6));
  LockstepOptions options;
  options.precision = "fp16";
  CHECK(runs.judge(options).tensors[0].error_ratio == Approx(0x1p-16 / 5 / 1e-4));
}

TEST_CASE("tensors stand by the share of the bound that each has, not by the ratio alone", "[lockstep]") {
  Runs runs;
  const auto add = [&](const char* name, std::size_t count, double ratio) {
    runs.add(0, name, std::vector<double>(count, 1), std::vector<double>(count, ratio * 0x1p-17),
             std::vector<double>(count, -0x1p-17));
  };
  add("gradient/a", 999, 2.25);   // 0.75 of 3
  add("gradient/b", 1000, 1.75);  // 0.875 of 2
  const Lockstep result = runs.judge();
  CHECK(named(result, "gradient/a").error_ratio == Approx(2.25));
  CHECK(named(result, "gradient/b").error_ratio == Approx(1.75));
  CHECK(names_of(result) == std::vector<std::string>{"gradient/b", "gradient/a"});
}

TEST_CASE("tensors of a thousand elements and more have the narrower bound", "[lockstep]") {
  for (const std::size_t count : {999, 1000}) {
    CAPTURE(count);
    std::vector<double> exact(count, 1);
    std::vector<double> wrong(count, 0x1p-16);
    Runs runs;
    runs.add(0, "gradient/w", exact, wrong, std::vector<double>(count, -0.4 * 0x1p-16));  // E of 2.5
    const LockstepTensor tensor = runs.judge().tensors.at(0);
    CHECK(tensor.error_ratio == Approx(2.5).epsilon(0.05));
    CHECK(tensor.error_ratio_bound == (count == 999 ? 3 : 2));
    CHECK(tensor.word == (count == 999 ? LockstepWord::rounding : LockstepWord::defect));
  }
}

TEST_CASE("the worst batch is kept with its figures, the first of two alike", "[lockstep]") {
  const auto judged = [](const std::vector<double>& candidate_errors) {
    Runs runs;
    for (std::size_t batch = 0; batch < candidate_errors.size(); ++batch) {
      add_five(runs, batch, "gradient/w", candidate_errors[batch] * 0x1p-18, 0x1p-17);
    }
    return runs.judge();
  };
  const Lockstep middle = judged({3, 5, 4});
  CHECK(middle.batches == 3);
  CHECK(middle.tensors[0].worst_batch == 1);
  CHECK(middle.tensors[0].error_ratio == Approx(2.5));
  CHECK(middle.tensors[0].e_x == Approx(5 * 0x1p-18 / 5));
  CHECK(middle.tensors[0].delta == Approx(7 * 0x1p-18 / 5));
  CHECK(judged({5, 3, 5}).tensors[0].worst_batch == 0);
  CHECK(judged({3, 3, 5}).tensors[0].worst_batch == 2);
  const Lockstep defect = judged({3, 8, 3});
  CHECK(defect.word == LockstepWord::defect);
  CHECK(defect.tensors[0].reason == "E is 4 in batch 1, class B2 allows 3");
  CHECK(defect.sentence == "1 of 1 tensors show a defect; worst `gradient/w`: E is 4 in batch 1, class B2 allows 3");
  CHECK(judged({6, 6}).word == LockstepWord::rounding);  // 3 is allowed
}

TEST_CASE("a tensor that a later batch alone holds is judged by it", "[lockstep]") {
  Runs runs;
  add_five(runs, 0, "gradient/w", 0x1p-17, 0x1p-17);
  add_five(runs, 1, "gradient/late", 0x1p-14, 0x1p-17);
  add_five(runs, 1, "gradient/w", 0x1p-17, 0x1p-17);
  const Lockstep result = runs.judge();
  CHECK(names_of(result) == std::vector<std::string>{"gradient/late", "gradient/w"});
  CHECK(named(result, "gradient/late").word == LockstepWord::defect);
  CHECK(named(result, "gradient/late").error_ratio == Approx(8));
  runs.batches()[1].reference.erase(runs.batches()[1].reference.begin());
  CHECK(named(runs.judge(), "gradient/late").reason == "missing in the reference of batch 1");
  CHECK(runs.judge().word == LockstepWord::undecided);
  CHECK(runs.judge().sentence ==
        "1 of 2 tensors cannot be judged; worst `gradient/late`: missing in the reference of batch 1");
}

TEST_CASE("the side that a tensor is missing on is named", "[lockstep]") {
  for (const int side : {0, 1, 2}) {
    Runs runs;
    add_five(runs, 0, "gradient/w", 0, 0);
    Runs::Batch& batch = runs.batches()[0];
    (side == 0 ? batch.candidate : side == 1 ? batch.reference : batch.exact).clear();
    const char* words[] = {"missing in the candidate of batch 0", "missing in the reference of batch 0",
                           "missing in the fp64 run of batch 0"};
    const Lockstep result = runs.judge();
    CHECK(result.tensors.at(0).reason == words[side]);
    CHECK_FALSE(result.tensors[0].equal_bits);
  }
}

// Of {3, 4} and {0, 0} the root mean square is 2.5: an error in the zeros is measured against sqrt(2) x 1e-12 x 2.5.
TEST_CASE("a role's own tensors are what an error in its zeros is measured against, batch by batch", "[lockstep]") {
  Runs runs;
  add_five(runs, 0, "gradient/w", 0, 0);
  runs.add(0, "gradient/z", {0, 0}, {1e-12, 0}, {0, 2e-12});
  runs.add(0, "weight/big", {1e6, 1e6}, {0, 0}, {0, 0});
  runs.add(1, "gradient/w", {30, 40}, {0, 0}, {0, 0});
  runs.add(1, "gradient/z", {0, 0}, {1e-12, 0}, {0, 2e-12});
  const LockstepTensor tensor = named(runs.judge(), "gradient/z");
  const double least = std::sqrt(2.0) * 1e-12 * 2.5;
  CHECK(tensor.worst_batch == 0);
  CHECK(tensor.e_x == Approx(1e-12 / least));
  CHECK(tensor.e_r == Approx(2e-12 / least));
  CHECK(tensor.word == LockstepWord::rounding);
}

TEST_CASE("what is NaN or infinite on one side is counted over all batches", "[lockstep]") {
  Runs runs;
  runs.add(0, "gradient/w", {1, 1, 1, 1}, {kNan, kInfinity, 0, 0}, {0, 0, 0, 0});
  runs.add(1, "gradient/w", {1, 1, 1, 1}, {0, 0, 0, -kInfinity}, {0, 0, 0, 0});
  const LockstepTensor tensor = runs.judge().tensors.at(0);
  CHECK(tensor.word == LockstepWord::defect);
  CHECK(tensor.nan_mismatches == 1);
  CHECK(tensor.inf_mismatches == 2);
  CHECK(tensor.reason == "1 elements are NaN and 2 infinite on one side only");
}

TEST_CASE("tensors stand by word, then bits, then how far they are of their bound, then name", "[lockstep]") {
  Runs runs;
  add_five(runs, 0, "g/a_equal", 0, 0);
  add_five(runs, 0, "g/b_rounds", 0x1p-17, 0x1p-17);
  add_five(runs, 0, "g/c_rounds_more", 0x1p-16, 0x1p-17);
  add_five(runs, 0, "g/d_rounds", 0x1p-17, 0x1p-17);
  add_five(runs, 0, "g/e_missing", 0, 0);
  add_five(runs, 0, "g/f_defect", 0x1p-15, 0x1p-17);
  add_five(runs, 0, "g/g_worse", 0x1p-14, 0x1p-17);
  add_five(runs, 0, "g/h_equal", 0, 0);
  runs.batches()[0].exact.erase(runs.batches()[0].exact.begin() + 4);
  const Lockstep result = runs.judge();
  CHECK(names_of(result) == std::vector<std::string>{"g/g_worse", "g/f_defect", "g/e_missing", "g/c_rounds_more",
                                                     "g/b_rounds", "g/d_rounds", "g/a_equal", "g/h_equal"});
  CHECK(result.word == LockstepWord::defect);
  CHECK(result.sentence == "2 of 8 tensors show a defect; worst `g/g_worse`: E is 8 in batch 0, class B2 allows 3");
  CHECK(result.not_resolved == std::vector<std::string>{"g/b_rounds", "g/c_rounds_more", "g/d_rounds"});
  CHECK(named(result, "g/a_equal").reason == "equal bits");
}

// Errors below the noise floor of a batch, 8 times the reference's in every batch: only pooling sees them.
TEST_CASE("pooling finds what no batch shows, and its bound follows from the tensors that are judged", "[lockstep]") {
  Runs runs;
  for (std::size_t batch = 0; batch < 32; ++batch) {
    add_five(runs, batch, "gradient/w", 0x1p-19, 0x1p-22);
    add_five(runs, batch, "gradient/x", 0x1p-21, 0x1p-21);
  }
  const Lockstep result = runs.judge();
  const LockstepTensor& tensor = result.tensors.at(0);
  CHECK(tensor.name == "gradient/w");
  CHECK(tensor.word == LockstepWord::defect);
  CHECK(tensor.error_ratio < 1);
  REQUIRE(tensor.pooled);
  CHECK(tensor.pooled->ratio == Approx(8));
  CHECK(tensor.pooled->spread_log == Approx(1 / std::sqrt(2.0)));
  CHECK(tensor.pooled->batches == 32);
  const double bound = pooled_bound(1 / std::sqrt(2.0), 32, 32, PooledOptions{2, 1e-3, kLegitimateRatio});
  CHECK(tensor.pooled->bound == Approx(bound));
  CHECK(tensor.reason == fmt::format("E pooled over 32 batches is 8.000, above {:.3f}", bound));
  CHECK(result.tensors.at(1).pooled->ratio == Approx(1));
  LockstepOptions generous;
  generous.legitimate_ratio = 20;
  CHECK(runs.judge(generous).word == LockstepWord::rounding);
  CHECK(runs.judge(generous).options.legitimate_ratio == 20);
  LockstepOptions strict;
  strict.alpha = 0.05;
  CHECK(runs.judge(strict).tensors[0].pooled->bound < bound);
  // Of other orders of summation an error that any of them may leave is no defect, but it is not resolved either.
  LockstepOptions other_orders;
  other_orders.legitimate_ratio = kLegitimateRatioOfOrders;
  other_orders.summed_terms = {{"gradient/w", 1000}};
  CHECK(runs.judge(other_orders).word == LockstepWord::rounding);
  CHECK(runs.judge(other_orders).not_resolved == std::vector<std::string>{"gradient/w"});
  other_orders.is_learned = true;  // of these two orders: the measured ratio decides
  CHECK(runs.judge(other_orders).word == LockstepWord::defect);
  other_orders.is_learned = false;
  other_orders.summed_terms = {{"gradient/x", 1000}};
  CHECK(runs.judge(other_orders).word == LockstepWord::defect);
  // A third tensor that cannot be judged is no part of the correction; one that can is.
  for (Runs::Batch& batch : runs.batches()) batch.exact.pop_back();
  CHECK(named(runs.judge(), "gradient/w").pooled->bound ==
        Approx(pooled_bound(1 / std::sqrt(2.0), 32, 32, PooledOptions{1, 1e-3, kLegitimateRatio})));
}

TEST_CASE("class B2 allows what an order of summation may leave in a long sum, and no more", "[lockstep]") {
  Runs runs;
  runs.add(0, "gradient/w", {3, 4}, {0, 0x1p-15}, {0, 0});
  const double e_x = 0x1p-15 / 5;
  CHECK(runs.judge().word == LockstepWord::defect);
  LockstepOptions options;
  options.is_learned = GENERATE(false, true);
  options.summed_terms = {{"gradient/w", 25088}};
  CHECK(runs.judge(options).word == LockstepWord::rounding);
  CHECK(runs.judge(options).tensors[0].error_ratio == Approx(e_x / order_error_rel(25088)));
  options.summed_terms = {{"gradient/w", 4}};  // an eightieth of it
  CHECK(runs.judge(options).word == LockstepWord::defect);
}

TEST_CASE("an error that terms which cancel may leave is neither rounding nor a defect", "[lockstep]") {
  const double order = order_error_rel(25088);
  const auto judged = [&](double e_x, const LockstepOptions& options) {
    Runs runs;
    for (std::size_t batch = 0; batch < 8; ++batch) {
      add_five(runs, batch, "gradient/w", 5 * (batch == 3 ? e_x : order / 2), 5 * order / 2);
    }
    return runs.judge(options);
  };
  LockstepOptions options;
  options.legitimate_ratio = kLegitimateRatioOfOrders;
  options.summed_terms = {{"gradient/w", 25088}};
  const double bound = judged(order, options).tensors[0].error_ratio_bound;
  CHECK(judged(0.99 * bound * order, options).word == LockstepWord::rounding);
  const Lockstep open = judged(0.99 * kCancellationOfOrders * bound * order, options);
  CHECK(open.word == LockstepWord::undecided);
  CHECK(open.sentence.starts_with("1 of 1 tensors cannot be judged; worst `gradient/w`: E is "));
  CHECK(open.sentence.ends_with(kWhereTermsCancel));
  CHECK(judged(1.01 * kCancellationOfOrders * bound * order, options).word == LockstepWord::defect);
  options.is_learned = true;  // of these two orders: what was measured decides
  CHECK(judged(0.99 * kCancellationOfOrders * bound * order, options).word == LockstepWord::defect);
  options.is_learned = false;
  options.summed_terms = {{"gradient/x", 25088}};  // of another tensor
  CHECK(judged(0.99 * kCancellationOfOrders * bound * order, options).word == LockstepWord::defect);
}

// A chance that one batch may have is none that all have.
TEST_CASE("a batch that cancelling explains excuses no error that all batches show together", "[lockstep]") {
  const double order = order_error_rel(25088);
  const auto judged = [&](double usual) {
    Runs runs;
    for (std::size_t batch = 0; batch < 32; ++batch) {
      add_five(runs, batch, "gradient/w", 5 * usual * (batch == 3 ? 3 : 1), 5 * order / 8);
    }
    LockstepOptions options;
    options.legitimate_ratio = kLegitimateRatioOfOrders;
    options.summed_terms = {{"gradient/w", 25088}};
    return runs.judge(options);
  };
  const Lockstep open = judged(3 * order);
  CHECK(open.tensors[0].error_ratio > open.tensors[0].error_ratio_bound);
  CHECK(open.word == LockstepWord::undecided);
  const Lockstep found = judged(5 * order);
  CHECK(found.tensors[0].e_x < found.tensors[0].error_ratio_bound * kCancellationOfOrders * order);
  CHECK(found.word == LockstepWord::defect);
}

TEST_CASE("a flip in one batch is left open beside batches in which terms may cancel, and no defect is", "[lockstep]") {
  const double order = order_error_rel(1000);
  const auto judged = [&](double usual) {
    Runs runs;
    for (std::size_t batch = 0; batch < 32; ++batch) {
      add_five(runs, batch, "gradient/w", 5 * (batch == 7 ? 1e-2 : usual), 5 * order / 8);
    }
    runs.batches()[7].flips = "1 element of `relu1` is";
    LockstepOptions options;
    options.legitimate_ratio = kLegitimateRatioOfOrders;
    options.summed_terms = {{"gradient/w", 1000}};
    return runs.judge(options);
  };
  CHECK(judged(order / 8).sentence.ends_with("the 31 other batches are rounding"));
  CHECK(judged(2 * order).word == LockstepWord::undecided);
  CHECK(judged(2 * order).sentence.ends_with("the 31 other batches show no defect"));
  CHECK(judged(6 * order).word == LockstepWord::defect);
}

TEST_CASE("what pooling shows of terms that may cancel is left open", "[lockstep]") {
  const double order = order_error_rel(1000);
  const auto judged = [&](double e_x) {
    Runs runs;
    for (std::size_t batch = 0; batch < 32; ++batch) add_five(runs, batch, "gradient/w", 5 * e_x, 5 * e_x / 8);
    LockstepOptions options;
    options.legitimate_ratio = kLegitimateRatioOfOrders;
    options.summed_terms = {{"gradient/w", 1000}};
    return runs.judge(options);
  };
  CHECK(judged(0.9 * order).word == LockstepWord::rounding);
  const Lockstep open = judged(1.1 * order);
  CHECK(open.word == LockstepWord::undecided);
  CHECK(open.tensors[0].reason.starts_with("E pooled over 32 batches is "));
  CHECK(open.tensors[0].reason.ends_with(kWhereTermsCancel));
  CHECK(judged(0.9 * kCancellationOfOrders * order).word == LockstepWord::undecided);
  CHECK(judged(1.1 * kCancellationOfOrders * order).word == LockstepWord::defect);
}

TEST_CASE("where orders differ a batch in which the reference is lucky, or the candidate is not, is no defect",
          "[lockstep]") {
  const auto judged = [](const std::vector<std::pair<double, double>>& errors, std::int64_t terms,
                         const char* tensor_with_terms = "gradient/w", bool is_drawn_apart = false) {
    Runs runs;
    for (std::size_t batch = 0; batch < errors.size(); ++batch) {
      add_five(runs, batch, "gradient/w", errors[batch].first, errors[batch].second);
    }
    LockstepOptions options;
    if (terms > 0) options.summed_terms = {{tensor_with_terms, terms}};
    options.is_drawn_apart = is_drawn_apart;
    return runs.judge(options).tensors.at(0);
  };
  const double e = 0x1p-15;
  const std::vector<std::pair<double, double>> lucky = {{e, e}, {e, e / 4}, {e, e}};
  CHECK(judged(lucky, 0).error_ratio == Approx(4));
  CHECK(judged(lucky, 0).error_ratio_bound == 3);
  CHECK(judged(lucky, 0).word == LockstepWord::defect);
  const double usual = std::sqrt((1 + 1.0 / 16 + 1) / 3);
  CHECK(judged(lucky, 16).error_ratio == Approx(1 / usual));
  CHECK(judged(lucky, 16).error_ratio_bound == Approx(2 * largest_by_chance(2, 1e-3 / 3)));
  CHECK(judged(lucky, 16).word == LockstepWord::rounding);
  // Terms of another tensor: orders differ here too.
  CHECK(judged(lucky, 16, "gradient/other").error_ratio == Approx(1 / usual));
  // One operator is proven to add in another order: chance alone is allowed, and not twice the error.
  const LockstepTensor proven = judged(lucky, 0, "", true);
  CHECK(proven.error_ratio == Approx(1 / usual));
  CHECK(proven.word == LockstepWord::rounding);
  CHECK(judged({{e, e}, {8 * e, e}, {e, e}}, 0, "", true).word == LockstepWord::defect);
  const std::vector<std::pair<double, double>> many(16, {1.5 * e, e});
  CHECK(judged(many, 0, "", true).pooled->bound == judged(many, 0).pooled->bound);
  CHECK(judged(many, 0, "", true).pooled->decision == judged(many, 0).pooled->decision);
  const double independent = batch_chance({4, 1, 1}, 5).independent;
  CHECK(judged({{e, 4 * e}, {e, e}, {e, e}}, 0, "", true).error_ratio_bound ==
        Approx(kLegitimateRatio * largest_by_chance(independent, 1e-3 / 3)));

  CHECK(judged({{e, e}, {4 * e, e}, {e, e}}, 0).word == LockstepWord::defect);
  CHECK(judged({{e, e}, {4 * e, e}, {e, e}}, 16).word == LockstepWord::rounding);
  CHECK(judged({{e, e}, {8 * e, e}, {e, e}}, 16).word == LockstepWord::defect);
  // A broken batch of the reference excuses no more than twice its median, and single draws.
  CHECK(judged({{32 * e, e}, {32 * e, 64 * e}, {32 * e, e}}, 16).error_ratio == Approx(16));
  CHECK(judged({{32 * e, e}, {32 * e, 64 * e}, {32 * e, e}}, 16).word == LockstepWord::defect);
}

TEST_CASE("where orders differ the error of a scalar in one batch is a draw, that of a matrix is not", "[lockstep]") {
  const auto judged = [](std::size_t elements, double candidate_error, bool orders_differ) {
    Runs runs;
    const std::vector<double> exact(elements, 4);
    for (std::size_t batch = 0; batch < 4; ++batch) {
      const double error = batch == 2 ? candidate_error : 0x1p-16;
      runs.add(batch, "gradient/w", exact, std::vector<double>(elements, error),
               std::vector<double>(elements, 0x1p-16));
    }
    LockstepOptions options;
    if (orders_differ) options.summed_terms = {{"gradient/other", 16}};
    return runs.judge(options).tensors.at(0);
  };
  CHECK(judged(1, 0x1p-14, false).word == LockstepWord::defect);
  CHECK(judged(1, 0x1p-14, true).word == LockstepWord::rounding);
  CHECK(judged(1, 0x1p-14, true).error_ratio_bound == Approx(2 * largest_by_chance(1, 1e-3 / 4)));
  CHECK(judged(1, 0x1p-12, true).word == LockstepWord::defect);
  CHECK(judged(999, 0x1p-14, true).error_ratio_bound == 3);
  CHECK(judged(999, 0x1p-14, true).word == LockstepWord::defect);
  CHECK(judged(1000, 0x1p-15, true).error_ratio_bound == Approx(2 * largest_by_chance(1000, 1e-3 / 4)));
  CHECK(judged(1000, 0x1p-15, false).error_ratio_bound == 2);
}

TEST_CASE("three runs that are not of one tensor are told by S", "[lockstep]") {
  Runs runs;
  runs.add(0, "gradient/w", {3, 4}, {0, 0x1p-10}, {-2.9, -3.9});  // the reference is a tenth of the others
  const LockstepTensor tensor = runs.judge().tensors.at(0);
  CHECK(tensor.word == LockstepWord::undecided);
  CHECK(tensor.reason.starts_with("S is "));
  CHECK(tensor.reason.ends_with(": the three runs do not hold the same tensor"));
  CHECK(tensor.triangle > kLargestTriangle);
}

TEST_CASE("of nothing nothing is judged, and the sentence says of what", "[lockstep]") {
  CHECK(judge_lockstep({}, {}).sentence == "there is no batch to judge");
  CHECK(judge_lockstep(std::vector<LockstepBatch>(4), {}).sentence == "there is no tensor to judge");
  Runs runs;
  add_five(add_five(runs, 0, "g/a", 0, 0) /* equal bits */, 0, "g/b", 0, 0);
  CHECK(runs.judge().sentence == "all 2 tensors have equal bits");
}

}  // namespace
}  // namespace reprobench
