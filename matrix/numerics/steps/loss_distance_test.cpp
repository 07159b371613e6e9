#include "matrix/numerics/steps/loss_distance.hpp"

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/numerics/steps/drifting_runs.hpp"

namespace reprobench {
namespace {

// Of a run whose weights drift by so much a step, with another loss in one of them.
Trace with_loss(double drift, std::size_t step, double loss) {
  Trace trace = drifting::run(drift);
  trace.steps[step - 1].loss = exact_float(loss);
  return trace;
}

double loss_of(std::size_t step) { return *exact_float_from_json(drifting::run(0).steps[step - 1].loss); }

TEST_CASE("equal weights give equal losses but for rounding, in the precision of the training", "[loss]") {
  const Trace expected = drifting::run(0);
  CHECK_FALSE(first_loss_apart(expected, expected, "fp32"));
  CHECK_FALSE(first_loss_apart(with_loss(0, 1, loss_of(1) * (1 + 0.9e-5)), expected, "fp32"));
  const auto apart = first_loss_apart(with_loss(0, 1, loss_of(1) * (1 - 1.1e-5)), expected, "fp32");
  REQUIRE(apart);
  CHECK(apart->step == 1);
  CHECK(apart->distance_rel == Approx(1.1e-5).epsilon(1e-3));
  CHECK(apart->bound_rel == 1e-5);
  CHECK(first_loss_apart(with_loss(0, 1, loss_of(1) * 2), expected, "bf16")->distance_rel == Approx(1));
  CHECK_FALSE(first_loss_apart(with_loss(0, 1, loss_of(1) * 1.01), expected, "bf16"));
  CHECK_THROWS_WITH(first_loss_apart(expected, expected, "int4"), Catch::Contains("no distance bounds"));
}

TEST_CASE("a later loss is held by the distance of the weights that it comes of", "[loss]") {
  const Trace expected = drifting::run(0);
  // After four updates the weights are 4e-6 apart, which explains 4e-4.
  CHECK_FALSE(first_loss_apart(with_loss(1e-6, 5, loss_of(5) * 1.0003), expected, "fp32"));
  const auto apart = first_loss_apart(with_loss(1e-6, 5, loss_of(5) * 1.0005), expected, "fp32");
  REQUIRE(apart);
  CHECK(apart->step == 5);
  CHECK(apart->bound_rel == Approx(1e-5 + 4e-4).epsilon(0.01));
  Trace unknown = with_loss(1e-6, 5, loss_of(5) * 2);
  unknown.tensors.erase(unknown.tensors.begin() + 4);
  CHECK_FALSE(first_loss_apart(unknown, expected, "fp32"));
  CHECK_FALSE(first_loss_apart(expected, unknown, "fp32"));
}

TEST_CASE("a loss that has nearly vanished is held relative to a hundredth of the first", "[loss]") {
  const Trace expected = with_loss(0, 5, 1e-4);  // the first is 1
  CHECK_FALSE(first_loss_apart(with_loss(0, 5, 1e-4 + 0.9e-7), expected, "fp32"));
  const auto apart = first_loss_apart(with_loss(0, 5, 1e-4 + 1.2e-7), expected, "fp32");
  REQUIRE(apart);
  CHECK(apart->distance_rel == Approx(1.2e-5).epsilon(1e-3));
}

TEST_CASE("a loss that is missing or not finite is left to the checks that fail on it", "[loss]") {
  Trace spoilt = drifting::run(0);
  spoilt.steps[0].loss = "nan";
  spoilt.steps[1].loss = nullptr;
  CHECK_FALSE(first_loss_apart(spoilt, drifting::run(0), "fp32"));
  CHECK_FALSE(first_loss_apart(drifting::run(0), spoilt, "fp32"));
  CHECK_FALSE(loss_distance_rel(spoilt.steps[1], drifting::run(0).steps[1]));
  CHECK(*loss_distance_rel(drifting::run(0).steps[1], drifting::run(0).steps[1]) == 0);
}

TEST_CASE("weights that are not finite explain no loss", "[loss]") {
  Trace spoilt = with_loss(0, 5, loss_of(5) * 2);
  spoilt.tensors[4].tensors.front().sketch->nan_count = 1;
  CHECK(first_loss_apart(spoilt, drifting::run(0), "fp32"));
}

}  // namespace
}  // namespace reprobench
