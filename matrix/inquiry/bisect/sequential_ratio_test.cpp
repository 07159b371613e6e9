#include "matrix/inquiry/bisect/sequential_ratio.hpp"

#include <cmath>
#include <random>

#include "ci/catch.hpp"
#include "matrix/inquiry/bisect/bisect_search.hpp"

namespace reprobench {
namespace {

// A time with relative noise, each side of a pair by itself.
double noisy(double time, double noise_rel, std::mt19937_64& random) {
  return time * std::exp(std::normal_distribution<double>(0, noise_rel)(random));
}

struct Simulated {
  BisectSearch search;
  int pairs = 0;
};

// Points from `first_slow` on take `slowdown` times as long.
Simulated simulate(std::uint64_t seed, std::size_t points, std::size_t first_slow, double slowdown, double noise_rel,
                   double margin, ConfirmEnds confirm = ConfirmEnds::yes) {
  std::mt19937_64 random(seed);
  const SequentialPlan plan = sequential_plan(margin, static_cast<int>(points) + 2);
  Simulated simulated;
  simulated.search = bisect(points, confirm, [&](std::size_t point, bool) -> PointAnswer {
    const RatioDecision decision = decide_ratio(plan, [&](int) {
      ++simulated.pairs;
      const double measured = noisy(point >= first_slow ? slowdown : 1, noise_rel, random);
      return std::pair(measured, noisy(1, noise_rel, random));
    });
    if (decision.verdict == RatioVerdict::undecided) return {PointState::untestable, "noise", ""};
    return {decision.verdict == RatioVerdict::worse ? PointState::as_bad : PointState::as_good, "", ""};
  });
  return simulated;
}

TEST_CASE("with 1 % noise a planted slowdown of 5 % is found in at least 95 of 100 bisects, and no other stack blamed",
          "[bisect]") {
  int right = 0;
  int wrong = 0;
  int pairs = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::size_t first_slow = 1 + seed % 7;
    const Simulated simulated = simulate(seed, 8, first_slow, 1.05, 0.01, 0.025);
    pairs += simulated.pairs;
    if (!simulated.search.problem.empty()) continue;  // it said so
    const PointChange found = simulated.search.culprit();
    right += found == PointChange{first_slow - 1, first_slow} ? 1 : 0;
    wrong += found.before >= first_slow || found.after < first_slow ? 1 : 0;
  }
  CAPTURE(right, wrong, pairs);
  CHECK(right >= 95);
  CHECK(wrong == 0);
}

TEST_CASE("noise far above the effect leaves the ends open rather than guessed", "[bisect]") {
  int answered = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    answered += simulate(seed, 8, 4, 1.05, 0.3, 0.025).search.problem.empty() ? 1 : 0;
  }
  CHECK(answered <= 5);
}

TEST_CASE("without a slowdown none is found, however noisy the machine is", "[bisect]") {
  for (const double noise_rel : {0.001, 0.01, 0.05}) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      found += simulate(seed, 8, 8, 1, noise_rel, 0.025).search.problem.empty() ? 1 : 0;
    }
    CAPTURE(noise_rel);
    CHECK(found <= 5);
  }
}

TEST_CASE("a machine that slows down after the search takes the answer back", "[bisect]") {
  const SequentialPlan plan = sequential_plan(0.025, 6);
  const BisectSearch search = bisect(4, ConfirmEnds::yes, [&](std::size_t point, bool is_confirmation) -> PointAnswer {
    const RatioDecision decision =
        decide_ratio(plan, [&](int) { return std::pair(is_confirmation || point >= 2 ? 1.05 : 1.0, 1.0); });
    return {decision.verdict == RatioVerdict::worse ? PointState::as_bad : PointState::as_good, "", ""};
  });
  CHECK_FALSE(search.problem.empty());
  CHECK(search.changes.empty());
}

TEST_CASE("the planned looks leave the error of all evaluations at 5 %", "[bisect]") {
  const SequentialPlan plan = sequential_plan(0.05, 10);
  CHECK(plan.confidence == Approx(0.95));
  CHECK(plan.confidence_of_each == Approx(1 - 0.05 / 30));
  CHECK(plan.looks == std::vector<int>{11, 22, 44});
  int taken = 0;
  const RatioDecision clear = decide_ratio(plan, [&](int index) {
    CHECK(index == taken++);
    return std::pair(1.2, 1.0);
  });
  CHECK(clear.verdict == RatioVerdict::worse);
  CHECK(taken == 11);
  CHECK(clear.interval.pairs == 11);
  // Half of the pairs on each side of the margin: no look decides.
  taken = 0;
  const RatioDecision open = decide_ratio(plan, [&](int index) {
    ++taken;
    return std::pair(index % 2 == 0 ? 1.0 : 1.2, 1.0);
  });
  CHECK(open.verdict == RatioVerdict::undecided);
  CHECK(taken == 44);
  CHECK(decide_ratio(plan, [](int) { return std::pair(0.0, 1.0); }).verdict == RatioVerdict::undecided);
}

}  // namespace
}  // namespace reprobench
