// Distances between sketches worked out by hand, and what they must not be said of.
#include "matrix/numerics/steps/tensor_distance.hpp"

#include <cmath>
#include <limits>

#include "ci/catch.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/numerics/steps/drifting_runs.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

constexpr auto kGradient = TensorRole::parameter_gradient;
constexpr auto kOfParameter = TensorRole::parameter;

// A tensor of norm `l2` whose first two signed sums are these; its digest is that of the sums.
TensorRecord tensor(const std::string& name, TensorRole role, double l2, double first, double second = 0) {
  TensorRecord record{name, role, "float32", {2, 2}, std::to_string(first) + "/" + std::to_string(second), {}};
  record.sketch = TensorSketch{};
  record.sketch->l2 = l2;
  record.sketch->signed_sums[0] = first;
  record.sketch->signed_sums[1] = second;
  return record;
}

std::optional<double> gradients_apart(const TensorsRecord& measured, const TensorsRecord& expected) {
  return role_distance_rel(measured, expected, kGradient);
}

// Two gradients and a parameter between them. The gradients are 3 and 4 apart, so 5 together, and the expected ones
// have norms of 6 and 8, so 10: a distance of 0.5.
struct TwoGradients {
  TensorsRecord measured{
      1,
      false,
      {tensor("a", kGradient, 60, 13), tensor("a", kOfParameter, 1, 1000), tensor("b", kGradient, 80, 20, 104)}};
  TensorsRecord expected{
      1, false, {tensor("a", kGradient, 6, 10), tensor("a", kOfParameter, 1, 1), tensor("b", kGradient, 8, 20, 100)}};
};

TEST_CASE("the distance of a role is taken over all its tensors, relative to the expected side", "[verdict]") {
  TwoGradients scene;
  CHECK(*gradients_apart(scene.measured, scene.expected) == Approx(0.5));
  CHECK(*gradients_apart(scene.expected, scene.measured) == Approx(0.05));
  CHECK(gradients_apart(scene.expected, scene.expected) == 0.0);
  CHECK(*role_distance_rel(scene.measured, scene.expected, kOfParameter) == Approx(999));
  CHECK_FALSE(role_distance_rel(scene.measured, scene.expected, TensorRole::loss));
}

TEST_CASE("a tensor that one side lacks, names otherwise or has no sketch of leaves no distance of its role",
          "[verdict]") {
  const bool swapped = GENERATE(false, true);
  TwoGradients scene;
  TensorsRecord& changed = swapped ? scene.expected : scene.measured;
  SECTION("no sketch of one") { changed.tensors[2].sketch.reset(); }
  SECTION("another name") { changed.tensors[2].name = "c"; }
  SECTION("another role") { changed.tensors[2].role = TensorRole::grad_output; }
  SECTION("one less") { changed.tensors.pop_back(); }
  CHECK_FALSE(gradients_apart(scene.measured, scene.expected));
}

TEST_CASE("what another role lacks does not matter", "[verdict]") {
  TwoGradients scene;
  scene.measured.tensors[1].sketch.reset();
  scene.expected.tensors[1].name = "other";
  CHECK(*gradients_apart(scene.measured, scene.expected) == Approx(0.5));
}

TEST_CASE("a NaN or infinity on one side is infinitely far, equal ones are not", "[verdict]") {
  TwoGradients scene;
  scene.measured.tensors[2].sketch->nan_count = 2;
  CHECK(std::isinf(*gradients_apart(scene.measured, scene.expected)));
  scene.expected.tensors[2].sketch->nan_count = 1;
  CHECK(std::isinf(*gradients_apart(scene.measured, scene.expected)));
  scene.expected.tensors[2].sketch->nan_count = 2;
  CHECK(*gradients_apart(scene.measured, scene.expected) == Approx(0.5));
  scene.expected.tensors[0].sketch->inf_count = 1;
  CHECK(std::isinf(*gradients_apart(scene.measured, scene.expected)));
}

TEST_CASE("of zeros anything else is infinitely far", "[verdict]") {
  const TensorsRecord zeros{1, false, {tensor("a", kGradient, 0, 0)}};
  const TensorsRecord other{1, false, {tensor("a", kGradient, 1e-9, 1e-9)}};
  CHECK(gradients_apart(zeros, zeros) == 0.0);
  CHECK(std::isinf(*gradients_apart(other, zeros)));
  CHECK(*gradients_apart(zeros, other) == Approx(1));
}

TEST_CASE("all signed sums count in a distance", "[verdict]") {
  TensorSketch a;
  TensorSketch b;
  CHECK(distance_squares(a, b) == 0);
  for (double& sum : a.signed_sums) sum = 2;
  for (double& sum : b.signed_sums) sum = -1;
  CHECK(distance_squares(a, b) == 9.0 * static_cast<double>(a.signed_sums.size()));
}

TEST_CASE("the tensors of a step and the state after it are told apart", "[verdict]") {
  Trace trace;
  trace.tensors = {{2, false, {}}, {2, true, {}}, {3, false, {}}};
  CHECK(tensors_of_step(trace, 2) == &trace.tensors[0]);
  CHECK(tensors_of_step(trace, 2, true) == &trace.tensors[1]);
  CHECK(tensors_of_step(trace, 3) == &trace.tensors[2]);
  CHECK(tensors_of_step(trace, 3, true) == nullptr);
  CHECK(tensors_of_step(trace, 1) == nullptr);
  CHECK(tensors_of_step(Trace{}, 1) == nullptr);
}

TEST_CASE("the tensors of a step are found in long lists, with every step or few of them", "[verdict]") {
  Trace all;
  for (std::int64_t step = 11; step <= 210; ++step) all.tensors.push_back({step, false, {}});
  all.tensors.push_back({210, true, {}});
  Trace few;
  for (const std::int64_t step : {1, 2, 5, 10, 20, 50, 100, 200}) few.tensors.push_back({step, false, {}});
  for (std::int64_t step = 0; step <= 212; ++step) {
    CAPTURE(step);
    const TensorsRecord* of_all = tensors_of_step(all, step);
    REQUIRE((of_all != nullptr) == (step >= 11 && step <= 210));
    if (of_all != nullptr) CHECK((of_all->step == step && !of_all->is_final));
    CHECK((tensors_of_step(all, step, true) != nullptr) == (step == 210));
    const TensorsRecord* of_few = tensors_of_step(few, step);
    const bool is_there = step > 0 && 200 % step == 0 && step != 4 && step != 8 && step != 25 && step != 40;
    REQUIRE((of_few != nullptr) == is_there);
    if (of_few != nullptr) CHECK(of_few->step == step);
  }
}

// Traces of one tensor of norm 1, `apart` between the sides.
struct OneTensor {
  OneTensor(TensorRole role, double apart, std::int64_t step = 1, bool is_final = false) {
    expected.tensors = {{step, is_final, {tensor("a", role, 1, 1)}}};
    measured.tensors = {{step, is_final, {tensor("a", role, 1, 1 + apart)}}};
    ours().digest = "other";
  }
  TensorRecord& ours() { return measured.tensors[0].tensors[0]; }
  TensorRecord& theirs() { return expected.tensors[0].tensors[0]; }
  std::optional<OverBound> over(const std::string& precision = "fp32") const {
    return first_over_bound(measured, expected, precision);
  }

  Trace measured;
  Trace expected;
};

TEST_CASE("every precision has its own bounds of rounding for parameters and for all else", "[verdict]") {
  struct Row {
    const char* precision;
    double tensor_rel;
    double parameter_rel;
  };
  for (const Row& row : {Row{"fp64", 1e-12, 1e-15}, Row{"fp32", 1e-5, 2.4e-7}, Row{"tf32", 2e-3, 2e-3},
                         Row{"bf16", 2e-2, 2e-2}, Row{"fp16", 2e-3, 2e-3}}) {
    INFO(row.precision);
    for (const auto& [role, bound] :
         {std::pair{kGradient, row.tensor_rel}, std::pair{kOfParameter, row.parameter_rel}}) {
      // 1 + 1e-15 is rounded to the next double but four: sums near 0 keep the distance exact.
      OneTensor scene(role, 0);
      scene.theirs().sketch->signed_sums[0] = 0;
      scene.ours().sketch->signed_sums[0] = 0.99 * bound;
      CHECK_FALSE(scene.over(row.precision));
      scene.ours().sketch->signed_sums[0] = -1.01 * bound;
      REQUIRE(scene.over(row.precision));
      CHECK(scene.over(row.precision)->bound_rel == Approx(bound));
      CHECK(scene.over(row.precision)->distance_rel == Approx(1.01 * bound));
    }
  }
  CHECK_THROWS_WITH(OneTensor(kGradient, 0).over("int8"), "no distance bounds for precision `int8`");
}

TEST_CASE("the bound of parameters grows with the root of the updates, of other tensors it does not", "[verdict]") {
  const auto bound = [](TensorRole role, std::int64_t step, bool is_final) {
    return OneTensor(role, 1, step, is_final).over()->bound_rel;
  };
  CHECK(bound(kOfParameter, 1, false) == Approx(2.4e-7));  // before the first update
  CHECK(bound(kOfParameter, 2, false) == Approx(2.4e-7));
  CHECK(bound(kOfParameter, 10, false) == Approx(2.4e-7 * 3));
  CHECK(bound(kOfParameter, 16, true) == Approx(2.4e-7 * 4));
  CHECK(bound(kGradient, 10, false) == Approx(1e-5));
  CHECK(bound(TensorRole::optimizer_state, 10, true) == Approx(1e-5));
}

TEST_CASE("what is over its bound is named, the first in order of steps and of execution", "[verdict]") {
  OneTensor scene(kGradient, 1e-3, 4);
  CHECK(scene.over()->step == 4);
  CHECK(scene.over()->role == kGradient);
  CHECK(scene.over()->tensor == "a");
  scene.measured.tensors[0].tensors.insert(scene.measured.tensors[0].tensors.begin(), tensor("0", kGradient, 1, 2));
  scene.expected.tensors[0].tensors.insert(scene.expected.tensors[0].tensors.begin(), tensor("0", kGradient, 1, 1));
  CHECK(scene.over()->tensor == "0");
  // Steps within their bound hide no later one.
  OneTensor later(kGradient, 1e-9, 4);
  const OneTensor over(kGradient, 1e-3, 5);
  later.measured.tensors.push_back(over.measured.tensors[0]);
  later.expected.tensors.push_back(over.expected.tensors[0]);
  REQUIRE(later.over());
  CHECK(later.over()->step == 5);
  // What one side alone holds is held against nothing.
  OneTensor longer(kGradient, 1e-9, 4);
  REQUIRE_FALSE(longer.over());
  longer.measured.tensors[0].tensors.push_back(tensor("z", kGradient, 1, 2));
  CHECK_FALSE(longer.over());
  std::swap(longer.measured, longer.expected);
  CHECK_FALSE(longer.over());
  scene.expected.tensors[0].step = 5;  // nothing of this step to hold it against
  CHECK_FALSE(scene.over());
}

TEST_CASE("a gradient that is rounding alone on both sides is over no bound, one that lost its size on one side is",
          "[verdict]") {
  // A bias that a softmax does not see, beside a gradient of norm 1 that is equal.
  const auto over = [](TensorRole role, double ours, double theirs, const char* precision = "fp32") {
    OneTensor scene(role, 0);
    scene.ours().digest = scene.theirs().digest;
    for (auto* side : {&scene.measured, &scene.expected}) {
      const double norm = side == &scene.measured ? ours : theirs;
      side->tensors[0].tensors.push_back(tensor("bias", role, norm, side == &scene.measured ? norm : -norm));
    }
    scene.measured.tensors[0].tensors[1].digest = "of other bits";
    return scene.over(precision).has_value();
  };
  CHECK_FALSE(over(kGradient, 1e-9, 1e-9));
  CHECK(over(kGradient, 1e-5, 1e-5));  // no rounding of the others is as large
  CHECK(over(kGradient, 1e-9, 1e-5));  // one side has a gradient
  CHECK(over(kGradient, 1e-5, 1e-9));
  CHECK(over(kOfParameter, 1e-9, 1e-9));
  CHECK(over(kGradient, 1e-9, 1e-9, "fp16"));  // not measured there
  // The role's 8 elements have a sum of squares of 1, so an RMS of 0.3536; four elements of that have twice its length.
  const double length = 2 * std::sqrt(1.0 / 8);
  for (const auto& [precision, noise] : {std::pair{"fp32", 1e-6}, {"fp64", 1.5e-15}, {"bf16", 2e-2}}) {
    INFO(precision);
    CHECK_FALSE(over(kGradient, 0.99 * length * noise, 0.99 * length * noise, precision));
    CHECK(over(kGradient, 1.01 * length * noise, 0.99 * length * noise, precision));
    CHECK(over(kGradient, 0.99 * length * noise, 1.01 * length * noise, precision));
  }
}

TEST_CASE("the tensor that is farthest for its own length is named, however small", "[verdict]") {
  TwoGradients scene;  // 3 of 6 and 4 of 8 apart
  const auto farthest = [&] { return farthest_tensor(scene.measured, scene.expected, kGradient, "fp32"); };
  CHECK(farthest()->name == "a");
  CHECK(farthest()->distance_rel == Approx(0.5));
  scene.measured.tensors[2].sketch->signed_sums[1] = 108;
  CHECK(farthest()->name == "b");
  CHECK(farthest()->distance_rel == Approx(1));
  scene.measured.tensors[0].sketch->nan_count = 1;
  CHECK(farthest()->name == "a");
  CHECK(std::isinf(farthest()->distance_rel));
  scene.measured.tensors[0].sketch->nan_count = 0;
  // Both below what rounding leaves: as if they were equal.
  for (TensorsRecord* side : {&scene.measured, &scene.expected}) {
    side->tensors.push_back(tensor("c", kGradient, 1e-7, side == &scene.measured ? 1e-7 : -1e-7));
  }
  CHECK(farthest()->name == "b");
  scene.measured.tensors[3].sketch->l2 = 1;
  CHECK(farthest()->name == "c");
  scene.measured.tensors.pop_back();
  CHECK_FALSE(farthest());  // its list does not match
  CHECK_THROWS_WITH(farthest_tensor(scene.expected, scene.expected, kGradient, "int8"), Contains("no distance bounds"));
  CHECK_FALSE(farthest_tensor(scene.expected, scene.expected, TensorRole::loss, "fp32"));
}

TEST_CASE("equal bits, choices, masks and tensors without a sketch are over no bound", "[verdict]") {
  OneTensor scene(kGradient, 1);
  SECTION("equal bits") { scene.ours().digest = scene.theirs().digest; }
  SECTION("a mask") { scene.ours().role = scene.theirs().role = TensorRole::mask; }
  SECTION("a choice") { scene.ours().role = scene.theirs().role = TensorRole::choice; }
  SECTION("no sketch here") { scene.ours().sketch.reset(); }
  SECTION("no sketch there") { scene.theirs().sketch.reset(); }
  CHECK_FALSE(scene.over());
}

TEST_CASE("a NaN or infinity on one side is over every bound", "[verdict]") {
  OneTensor scene(kGradient, 0);
  CHECK_FALSE(scene.over("bf16"));
  scene.theirs().sketch->inf_count = 1;
  CHECK(std::isinf(scene.over("bf16")->distance_rel));
  scene.ours().sketch->inf_count = 1;
  CHECK_FALSE(scene.over("bf16"));
}

TEST_CASE("a tensor of zeros is measured by its role's other tensors", "[verdict]") {
  OneTensor scene(kGradient, 0);
  scene.ours().sketch->signed_sums[0] = 1e-20;
  scene.theirs().sketch->signed_sums[0] = scene.theirs().sketch->l2 = 0;
  scene.measured.tensors[0].tensors.push_back(tensor("b", kGradient, 4, 1));
  scene.expected.tensors[0].tensors.push_back(tensor("b", kGradient, 4, 1));
  scene.measured.tensors[0].tensors.push_back(tensor("w", kOfParameter, 1e9, 1));
  scene.expected.tensors[0].tensors.push_back(tensor("w", kOfParameter, 1e9, 1));
  // The gradients' 8 elements have a sum of squares of 16, so an RMS of sqrt(2); the floor is sqrt(4) * 1e-12 times it.
  CHECK_FALSE(scene.over());
  scene.ours().sketch->signed_sums[0] = 1e-15;
  CHECK(scene.over()->distance_rel == Approx(1e-15 / (2 * 1e-12 * std::sqrt(2.0))));
}

TEST_CASE("the first tensor further away than rounding takes it is named", "[distance]") {
  const auto over = first_over_bound(drifting::run(1e-4), drifting::run(0), "fp32");
  REQUIRE(over);
  CHECK(over->step == 1);
  CHECK(over->role == TensorRole::parameter_gradient);
  CHECK(over->tensor == "fc1.weight");
  CHECK_FALSE(first_over_bound(drifting::run(1e-9), drifting::run(0), "fp32"));
  CHECK_FALSE(first_over_bound(drifting::run(1e-4), drifting::run(0), "bf16"));
  CHECK_THROWS_AS(first_over_bound(drifting::run(0), drifting::run(0), "fp3"), ContractError);
}

}  // namespace
}  // namespace reprobench
