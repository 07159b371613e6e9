// Results near the bounds, and evidence that is no number.
#include "suites/worker/probes/forward_check.hpp"

#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One batch's pass as the model's own operators make it.
struct EagerPass {
  at::Tensor fp32;
  at::Tensor fp64;
  double bound_rel;
};

// 2000 ones, which fp32 is off from by `error_rel`.
EagerPass eager_off_by(double error_rel, double bound_rel = 1) {
  const at::Tensor exact = at::ones({2000}, at::kDouble);
  return {(exact * (1 + error_rel)).to(at::kFloat), exact, bound_rel};
}

at::Tensor off_by(double error_rel) { return (at::ones({2000}, at::kDouble) * (1 + error_rel)).to(at::kFloat); }

Correctness eager_right(const EagerPass& eager) { return eager_is_right(eager.fp32, eager.fp64, eager.bound_rel); }
Correctness package_right(const at::Tensor& result, const EagerPass& eager) {
  return package_is_right(result, eager.fp32, eager.fp64, eager.bound_rel);
}

TEST_CASE("a forward pass may be off by twice eager's error, or by the floor of class B2", "[probe]") {
  CHECK(forward_error_bound_rel(1e-8, 1000) == Approx(2e-6));
  CHECK(forward_error_bound_rel(1e-8, 999) == Approx(3e-6));
  CHECK(forward_error_bound_rel(4e-6, 5000) == Approx(8e-6));
  CHECK(forward_error_bound_rel(4e-6, 10) == Approx(12e-6));
}

TEST_CASE("a package is right within class B2 of eager's error, and no further", "[probe]") {
  const EagerPass eager = eager_off_by(1e-4);
  CHECK(package_right(off_by(1.9e-4), eager).right);
  CHECK(package_right(off_by(-1.9e-4), eager).right);
  CHECK_FALSE(package_right(off_by(2.1e-4), eager).right);
  CHECK(package_right(off_by(1.9e-6), eager_off_by(0)).right);
  CHECK_FALSE(package_right(off_by(2.2e-6), eager_off_by(0)).right);
}

TEST_CASE("an eager pass that is wrong itself makes no room for a package", "[probe]") {
  const EagerPass eager = eager_off_by(0.5, 1e-5);
  CHECK_FALSE(eager_right(eager).right);
  CHECK_FALSE(package_right(eager.fp32, eager).right);
  CHECK_FALSE(package_right(at::zeros({2000}), eager).right);
  CHECK(package_right(off_by(1.9e-5), eager).right);
}

TEST_CASE("what is no number is never right, on one side or on both", "[probe]") {
  EagerPass eager = eager_off_by(0, 1e-5);
  CHECK_FALSE(package_right(off_by(0) * kNan, eager).right);
  at::Tensor infinite = off_by(0);
  infinite[7].fill_(std::numeric_limits<float>::infinity());
  CHECK_FALSE(package_right(infinite, eager).right);
  eager.fp32 = eager.fp32 * kNan;
  CHECK_FALSE(eager_right(eager).right);
  CHECK_FALSE(package_right(eager.fp32, eager).right);
  CHECK(package_right(off_by(0), eager).right);  // judged by the bound of eager, not by its error
  eager.fp64 = eager.fp64 * kNan;
  CHECK_FALSE(package_right(eager.fp32, eager).right);
  CHECK_FALSE(package_right(off_by(0), eager).right);
  EagerPass infinite_pass = eager_off_by(0, 1e-5);
  infinite_pass.fp64[7].fill_(std::numeric_limits<double>::infinity());
  infinite_pass.fp32 = infinite;
  CHECK_FALSE(package_right(infinite, infinite_pass).right);
}

TEST_CASE("bits that differ are counted, of NaN and of zeros with signs too", "[probe]") {
  const at::Tensor ones = at::ones({3, 2});
  CHECK(differing_elements(ones, ones) == 0);
  at::Tensor other = ones.clone();
  other[0][1].fill_(std::nextafter(1.0F, 2.0F));
  other[2][0].fill_(kNan);
  CHECK(differing_elements(other, ones) == 2);
  CHECK(differing_elements(other, other) == 0);
  CHECK(differing_elements(at::zeros({4}), -at::zeros({4})) == 4);
  CHECK(differing_elements(other.t(), other.t().contiguous()) == 0);
}

TEST_CASE("a result of another shape has no digest, a wrong one of eager's shape has", "[probe]") {
  const EagerPass eager = eager_off_by(0, 1e-5);
  CHECK(package_right(at::ones({1999}), eager).digest.empty());
  CHECK(package_right(at::zeros({2000}), eager).digest.size() == 32);
  CHECK(eager_is_right(at::ones({2000}), eager.fp64, 1).digest == package_right(at::ones({2000}), eager).digest);
}

// sqrt(784) and sqrt(128) roundings of 2^-24, and what error_bound.hpp adds to each.
TEST_CASE("eager may be off by its products, each by its depth", "[probe]") {
  CHECK(eager_error_bound_rel(mlp(), mlp().presets().front()) ==
        Approx(product_error_bound_rel("fp32", 784) + product_error_bound_rel("fp32", 128)));
}

}  // namespace
}  // namespace reprobench
