#include "suites/worker/tensor_record.hpp"

#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

at::Tensor counting(at::ScalarType type) { return at::arange(12, at::kFloat).reshape({3, 4}).to(type); }

TEST_CASE("a view has the digest and sketch of its copied elements", "[worker]") {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong}) {
    const at::Tensor transposed = counting(type).t();
    const at::Tensor copy = transposed.contiguous();
    REQUIRE_FALSE(transposed.is_contiguous());
    CHECK(digest_of(transposed) == digest_of(copy));
    CHECK(sketch_of(transposed).signed_sums == sketch_of(copy).signed_sums);
    CHECK(digest_of(transposed) != digest_of(counting(type)));
    CHECK(digest_of(counting(type).slice(0, 1)) == digest_of(counting(type).slice(0, 1).clone()));
  }
}

TEST_CASE("equal numbers of different types have different digests", "[worker]") {
  CHECK(digest_of(counting(at::kFloat)) != digest_of(counting(at::kDouble)));
  CHECK(digest_of(counting(at::kFloat)) != digest_of(counting(at::kBFloat16)));
}

TEST_CASE("one element moved by one ulp, or zero to minus zero, changes the digest", "[worker]") {
  at::Tensor tensor = at::zeros({100, 300});
  const Digest before = digest_of(tensor);
  auto* values = static_cast<float*>(tensor.data_ptr());
  values[29'999] = std::nextafter(0.0F, 1.0F);
  CHECK(digest_of(tensor) != before);
  values[29'999] = -0.0F;
  CHECK(digest_of(tensor) != before);
  values[29'999] = 0;
  CHECK(digest_of(tensor) == before);
}

TEST_CASE("a type no record can hold is refused", "[worker]") {
  CHECK_THROWS_AS(dtype_name(at::zeros({1}, at::kComplexFloat)), RunFailure);
  CHECK_THROWS_AS(sketch_of(at::zeros({1}, at::kBool)), RunFailure);
}

}  // namespace
}  // namespace reprobench
