// Curves of unequal length, and intervals that are wider to one side.
#include "matrix/numerics/steps/loss_equivalence.hpp"

#include <span>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/numerics/steps/drifting_runs.hpp"

namespace reprobench {
namespace {

TEST_CASE("loss curves of seeds are equivalent only where that is shown", "[equivalence]") {
  const Trace a = drifting::run(0);
  const Trace b = drifting::run(1e-6);
  const Trace c = drifting::run(1e-2);
  const Trace* expected[] = {&a, &b, &a, &b, &a};
  const Trace* near[] = {&b, &a, &b, &b, &a};
  const Trace* far[] = {&c, &c, &c, &c, &c};
  const auto same = loss_equivalence(near, expected);
  CHECK(same.equivalent);
  CHECK(same.windows.size() == 5);
  CHECK_FALSE(loss_equivalence(far, expected).equivalent);
  const auto one = loss_equivalence(std::span(near, 1), std::span(expected, 1));
  CHECK_FALSE(one.equivalent);
  CHECK(one.sentence.find("at least 2 seeds") != std::string::npos);
}

TEST_CASE("windows are of 50 steps, or a quarter of a shorter run, and what is left is left out", "[equivalence]") {
  const auto windows_of = [](std::size_t steps) {
    const Trace a = drifting::constant(steps, 2.0);
    const Trace b = drifting::constant(steps, 2.001);
    const Trace* ours[] = {&a, &b};
    const Trace* theirs[] = {&b, &a};
    return loss_equivalence(ours, theirs);
  };
  const LossEquivalence longer = windows_of(230);
  REQUIRE(longer.windows.size() == 4);
  CHECK(longer.windows[0].first_step == 1);
  CHECK(longer.windows[0].last_step == 50);
  CHECK(longer.windows[3].first_step == 151);
  CHECK(longer.windows[3].last_step == 200);
  CHECK(longer.seeds == 2);
  CHECK(windows_of(400).windows.size() == 8);
  CHECK(windows_of(9).windows.size() == 4);  // of 2 steps
  CHECK(windows_of(4).windows.size() == 4);
  const LossEquivalence short_run = windows_of(3);
  CHECK_FALSE(short_run.equivalent);
  CHECK(short_run.windows.empty());
  CHECK(short_run.sentence == "not tested: 3 steps are too few for four windows");
}

TEST_CASE("a window holds the mean of its steps", "[equivalence]") {
  Trace a = drifting::constant(8, 1.0);
  a.steps[2].loss = exact_float(1.5);
  const Trace b = drifting::constant(8, 1.0);
  const Trace* ours[] = {&a, &a};
  const Trace* theirs[] = {&b, &b};
  const LossEquivalence result = loss_equivalence(ours, theirs, 0.5);
  REQUIRE(result.windows.size() == 4);
  CHECK(result.windows[0].result.difference == 0);
  CHECK(result.windows[1].result.difference == 0.25);
  CHECK(result.windows[1].result.margin == 0.5);
  CHECK(result.equivalent);
  CHECK(result.sentence == "loss curves of 2 seeds are equivalent within 50 %: the widest interval reaches 25 %");
  const LossEquivalence closer = loss_equivalence(ours, theirs, 0.2);
  CHECK_FALSE(closer.equivalent);
  CHECK(closer.sentence ==
        "loss curves of 2 seeds are not shown to be equivalent within 20 %: the widest interval reaches 25 %");
  // The other way round -0.25 is a fifth of 1.25.
  CHECK(loss_equivalence(theirs, ours, 0.5).sentence ==
        "loss curves of 2 seeds are equivalent within 50 %: the widest interval reaches 20 %");
}

TEST_CASE("a loss that is missing, or sides of unequal seeds, are not tested", "[equivalence]") {
  Trace a = drifting::constant(8, 1.0);
  const Trace b = drifting::constant(8, 1.0);
  const Trace* ours[] = {&a, &b};
  const Trace* theirs[] = {&b, &b};
  a.steps[7].loss = nullptr;
  const LossEquivalence missing = loss_equivalence(ours, theirs);
  CHECK_FALSE(missing.equivalent);
  CHECK(missing.sentence == "not tested: a loss is missing or not finite");
  CHECK(missing.windows.empty());
  CHECK(loss_equivalence(ours, std::span(theirs).first(1)).sentence ==
        "not tested: the sides have unequal numbers of seeds");
  const LossEquivalence unequal = loss_equivalence(ours, std::span(theirs).first(1), 0.25);
  CHECK(unequal.seeds == 2);
  CHECK(unequal.margin_rel == 0.25);
}

TEST_CASE("the shortest curve of either side decides how many windows there are", "[equivalence]") {
  const Trace longer = drifting::constant(20);
  const Trace shorter = drifting::constant(9);
  for (const std::size_t at : {0, 1, 2, 3}) {
    const Trace* curves[] = {&longer, &longer, &longer, &longer};
    curves[at] = &shorter;
    const std::span all(curves);
    const LossEquivalence result = loss_equivalence(all.first(2), all.last(2));
    REQUIRE(result.windows.size() == 4);
    CHECK(result.windows.back().first_step == 7);
    CHECK(result.windows.back().last_step == 8);
    CHECK(result.equivalent);
  }
}

// Differences of 0.1 and 0.3 to a loss of 1: 0.2 on average, with a standard error of 0.1 and one degree of freedom,
// for which Student's t at 95 % is 6.3138: from -0.43138 to 0.83138.
TEST_CASE("the widest interval is told by its further end, whichever that is", "[equivalence]") {
  const Trace plain = drifting::constant(4);
  const Trace higher[] = {drifting::constant(4, 1.1), drifting::constant(4, 1.3)};
  const Trace lower[] = {drifting::constant(4, 0.9), drifting::constant(4, 0.7)};
  const Trace* expected[] = {&plain, &plain};
  const Trace* above[] = {&higher[0], &higher[1]};
  const Trace* below[] = {&lower[0], &lower[1]};
  const LossEquivalence up = loss_equivalence(above, expected, 0.5);
  REQUIRE(up.windows.size() == 4);
  CHECK(up.windows[0].result.low == Approx(-0.43138).epsilon(1e-4));
  CHECK(up.windows[0].result.high == Approx(0.83138).epsilon(1e-4));
  CHECK_FALSE(up.equivalent);
  const char* sentence =
      "loss curves of 2 seeds are not shown to be equivalent within 50 %: the widest interval reaches 83 %";
  CHECK(up.sentence == sentence);
  CHECK(loss_equivalence(below, expected, 0.5).sentence == sentence);
}

TEST_CASE("a loss that is missing on either side, of any seed and step, leaves the curves untested", "[equivalence]") {
  const Trace whole = drifting::constant(8);
  for (const std::size_t at : {0, 1, 2, 3}) {
    for (const std::size_t step : {0, 3, 7}) {
      Trace broken = whole;
      broken.steps[step].loss = nullptr;
      const Trace* curves[] = {&whole, &whole, &whole, &whole};
      curves[at] = &broken;
      const std::span all(curves);
      const LossEquivalence result = loss_equivalence(all.first(2), all.last(2), 0.5);
      CHECK_FALSE(result.equivalent);
      CHECK(result.sentence == "not tested: a loss is missing or not finite");
      CHECK(result.seeds == 2);
      CHECK(result.margin_rel == 0.5);
      CHECK(result.windows.empty());
    }
  }
}

}  // namespace
}  // namespace reprobench
