#include "matrix/inquiry/bisect/component_alone.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

constexpr double kMargin = 0.05;

RatioInterval about(double ratio, double width = 0.01) { return {ratio, ratio - width, ratio + width, 9}; }

AloneWord of_times(const RatioInterval& alone, const RatioInterval& whole, const RatioInterval& rest) {
  return explained_time(alone, whole, rest, kMargin);
}

TEST_CASE("bits of the mix that are B's are explained, and those of A are not", "[inquiry][bisect]") {
  CHECK(explained_bits(PointState::as_bad, PointState::as_bad) == AloneWord::explains);
  CHECK(explained_bits(PointState::as_good, PointState::as_bad) == AloneWord::not_it);
  CHECK(explained_bits(PointState::another, PointState::as_bad) == AloneWord::in_part);
}

TEST_CASE("between equal bits there is nothing to explain, whatever the component does", "[inquiry][bisect]") {
  CHECK(explained_bits(PointState::as_good, PointState::as_good) == AloneWord::nothing);
  CHECK(explained_bits(PointState::another, PointState::as_good) == AloneWord::nothing);
}

TEST_CASE("bits that could not be seen explain nothing and refute nothing", "[inquiry][bisect]") {
  CHECK(explained_bits(PointState::untestable, PointState::as_bad) == AloneWord::undecided);
  CHECK(explained_bits(PointState::as_good, PointState::untestable) == AloneWord::undecided);
}

TEST_CASE("a time is explained where the component brings it and the rest brings nothing", "[inquiry][bisect]") {
  CHECK(of_times(about(1.20), about(1.21), about(1.01)) == AloneWord::explains);
  CHECK(of_times(about(0.80), about(0.81), about(1.00)) == AloneWord::explains);
  CHECK(of_times(about(1.20), about(1.23), about(1.025)) == AloneWord::explains);  // a rest below the margin
}

TEST_CASE("a time is not explained where the component brings nothing, goes the other way, or little of it",
          "[inquiry][bisect]") {
  CHECK(of_times(about(1.00), about(1.20), about(1.20)) == AloneWord::not_it);
  CHECK(of_times(about(1.00), about(0.80), about(0.80)) == AloneWord::not_it);
  CHECK(of_times(about(0.80), about(1.20), about(1.50)) == AloneWord::not_it);
  CHECK(of_times(about(1.025), about(1.23), about(1.20)) == AloneWord::not_it);
}

TEST_CASE("what the component and the rest bring together is explained in part", "[inquiry][bisect]") {
  CHECK(of_times(about(1.20), about(1.44), about(1.20)) == AloneWord::in_part);
  CHECK(of_times(about(1.035), about(1.07), about(1.035)) == AloneWord::in_part);  // each below the margin
}

TEST_CASE("a component that does more than B shows is called so", "[inquiry][bisect]") {
  CHECK(of_times(about(1.50), about(1.20), about(0.80)) == AloneWord::in_excess);
}

TEST_CASE("times of A and B that are equal leave nothing to explain, if the component's own is known",
          "[inquiry][bisect]") {
  CHECK(of_times(about(1.00), about(1.00), about(1.00)) == AloneWord::nothing);
  CHECK(of_times(about(1.20), about(1.00), about(0.83)) == AloneWord::nothing);
  CHECK(of_times(about(1.00, 0.2), about(1.00), about(1.00)) == AloneWord::undecided);
}

TEST_CASE("noise is no answer", "[inquiry][bisect]") {
  CHECK(of_times(about(1.00, 0.2), about(1.20), about(1.20)) == AloneWord::undecided);
  CHECK(of_times(about(1.20), about(1.10, 0.2), about(1.00)) == AloneWord::undecided);
  CHECK(of_times(about(1.20), about(1.21), about(1.00, 0.2)) == AloneWord::undecided);
  CHECK(of_times(about(1.00), about(1.20), about(1.10, 0.2)) == AloneWord::undecided);
  CHECK(is_decided(about(1.00), kMargin));
  CHECK(is_decided(about(1.20), kMargin));
  CHECK(is_decided(about(0.80), kMargin));
  CHECK_FALSE(is_decided(about(1.00, 0.2), kMargin));
}

TEST_CASE("an effect is known only if everything that was asked is", "[inquiry][bisect]") {
  ComponentAlone answer;
  answer.alone = answer.whole = answer.rest = PairEffect{};
  CHECK_FALSE(has_effect(answer));  // undecided
  answer.bits = AloneWord::nothing;
  CHECK(has_effect(answer) == false);
  answer.alone->first_difference = "step 1";
  CHECK(has_effect(answer) == true);
  answer.alone->first_difference = "";
  answer.margin = kMargin;
  answer.time = AloneWord::undecided;
  answer.alone->time = about(1.00);
  CHECK_FALSE(has_effect(answer));
  answer.time = AloneWord::nothing;
  CHECK(has_effect(answer) == false);
  answer.alone->time = about(1.20);
  CHECK(has_effect(answer) == true);
  answer.alone->time = about(0.80);
  CHECK(has_effect(answer) == true);
  answer.alone->time.reset();
  CHECK_FALSE(has_effect(answer));
  answer.time.reset();
  answer.problem = "it crashed";
  CHECK_FALSE(has_effect(answer));
}

}  // namespace
}  // namespace reprobench
