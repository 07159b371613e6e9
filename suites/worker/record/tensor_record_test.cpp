#include "suites/worker/record/tensor_record.hpp"

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
}

TEST_CASE("narrow types are sketched as the numbers they hold", "[worker]") {
  for (const auto type : {at::kHalf, at::kInt, at::kShort, at::kChar, at::kByte}) {
    CHECK(sketch_of(counting(type)).signed_sums == sketch_of(counting(at::kFloat)).signed_sums);
    CHECK(sketch_of(counting(type)).sum == 66);
  }
  CHECK(sketch_of(at::zeros({3}, at::kBool)).l2 == 0);
}

TEST_CASE("eight-bit floats have names, digests and sketches where the release has them", "[worker]") {
  // Their places in the enumeration are part of LibTorch's serialized format; the oldest release ends before them.
  for (const auto& [place, name] : {std::pair{23, "float8_e5m2"}, std::pair{24, "float8_e4m3fn"}}) {
    const auto type = static_cast<at::ScalarType>(place);
    if (std::string(at::toString(type)).find("Float8") == std::string::npos) continue;
    const at::Tensor tensor = counting(at::kFloat).to(type);
    CHECK(dtype_name(tensor) == name);
    CHECK(sketch_of(tensor).max == (place == 23 ? 12 : 11));  // e5m2 has two bits of mantissa
    const Digest before = digest_of(tensor);
    static_cast<std::uint8_t*>(tensor.data_ptr())[11] ^= 1;
    CHECK(digest_of(tensor) != before);
  }
}

TEST_CASE("tensors without elements and expanded tensors have digests", "[worker]") {
  CHECK(digest_of(at::zeros({0, 4})) != digest_of(at::zeros({4, 0})));
  CHECK(digest_of(at::zeros({1}).expand({5})) == digest_of(at::zeros({5})));
  CHECK(sketch_of(at::zeros({0})).nan_count == 0);
}

}  // namespace
}  // namespace reprobench
