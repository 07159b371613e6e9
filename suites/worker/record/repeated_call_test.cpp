#include "suites/worker/record/repeated_call.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

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

// Shows a call of it as a listener sees one, and what it makes in fp64.
class SeenNorm final : public OperatorListener {
 public:
  void started(OperatorCall& call) override {
    if (call.name == "aten::native_batch_norm") before = with_tensors(call.inputs, widened);
  }
  void ended(OperatorCall& call) override {
    if (call.name != "aten::native_batch_norm") return;
    filled = call.filled;
    made = tensors_in(call.outputs);
    exact = tensors_in(call_again(call, before));
  }
  CallStack before;
  std::vector<std::string> filled;
  std::vector<at::Tensor> made;
  std::vector<at::Tensor> exact;
};

TEST_CASE("running statistics stand behind the results of the call that fills them, in fp64, too", "[worker]") {
  const bool trains = GENERATE(true, false);
  const at::Tensor image = ramp({2, 4, 9, 8}, 0.25).to(at::kFloat);
  const at::Tensor ones = at::ones({4});
  const at::Tensor mean = at::zeros({4});
  const at::Tensor variance = at::ones({4});
  SeenNorm seen;
  {
    const OperatorHook hook({&seen});
    at::native_batch_norm(image, ones, ones, mean, variance, trains, 0.1, 1e-5);
    OperatorHook::rethrow_failure();
  }
  CHECK(seen.filled.empty() != trains);
  if (!trains) return;
  CHECK(seen.filled == std::vector<std::string>{"running_mean", "running_var"});
  REQUIRE(seen.made.size() == 5);
  REQUIRE(seen.exact.size() == 5);
  CHECK(seen.made[4].is_same(variance));
  CHECK(seen.exact[4].scalar_type() == at::kDouble);
  CHECK(at::allclose(seen.exact[4], variance.to(at::kDouble), 1e-6));
  CHECK_FALSE(at::equal(variance, at::ones({4})));
}

}  // namespace
}  // namespace reprobench
