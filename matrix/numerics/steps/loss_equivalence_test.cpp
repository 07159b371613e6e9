// Curves of unequal length, and intervals that are wider to one side.
#include "matrix/numerics/steps/loss_equivalence.hpp"

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

Trace with_losses(const std::vector<double>& losses) {
  Trace trace;
  for (const double loss : losses) {
    StepRecord record;
    record.step = static_cast<std::int64_t>(trace.steps.size()) + 1;
    record.loss = exact_float(loss);
    trace.steps.push_back(record);
  }
  return trace;
}

Trace constant(std::size_t steps, double loss = 1) { return with_losses(std::vector<double>(steps, loss)); }

TEST_CASE("the shortest curve of either side decides how many windows there are", "[equivalence]") {
  const Trace longer = constant(20);
  const Trace shorter = constant(9);
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
  const Trace plain = constant(4);
  const Trace higher[] = {constant(4, 1.1), constant(4, 1.3)};
  const Trace lower[] = {constant(4, 0.9), constant(4, 0.7)};
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
  const Trace whole = constant(8);
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
