#include "suites/worker/repeated_call.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Sizes = std::vector<std::int64_t>;

at::Tensor ramp(const Sizes& shape, double scale) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  at::Tensor tensor = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < count; ++i)
    tensor.mutable_data_ptr<double>()[i] = scale * static_cast<double>(i % 17 - 8);
  return tensor;
}

TEST_CASE("oneDNN's convolution is made in fp64 by the operator that chooses it, each argument in its place",
          "[worker]") {
  const at::Tensor image = ramp({2, 4, 9, 8}, 0.25);
  const at::Tensor weight = ramp({6, 2, 3, 2}, 0.5);
  const at::Tensor bias = ramp({6}, 1);
  const Sizes padding = {2, 1};
  const Sizes stride = {3, 2};
  const Sizes dilation = {1, 2};
  OperatorCall call;
  call.name = "aten::mkldnn_convolution";
  const CallStack made = call_again(call, {image, weight, bias, padding, stride, dilation, std::int64_t{2}});
  REQUIRE(made.size() == 1);
  CHECK(made[0].toTensor().scalar_type() == at::kDouble);
  const Sizes none = {0, 0};
  CHECK(at::equal(made[0].toTensor(), at::convolution(image, weight, bias, stride, padding, dilation, false, none, 2)));
}

}  // namespace
}  // namespace reprobench
