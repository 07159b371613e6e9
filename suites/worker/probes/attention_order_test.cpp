// In which order LibTorch's attention on a CPU adds up. Releases before 2.3 have the operator under another name.
#include <cstdio>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/randn.h>

#include "ci/catch.hpp"
#include "suites/worker/probes/call_order_fixture.hpp"
#include "suites/worker/probes/call_order_probe.hpp"
#include "suites/worker/probes/captured_call_order.hpp"

namespace reprobench {
namespace attention_order_test {
namespace {

using namespace test;

constexpr const char* kForward = "aten::_scaled_dot_product_flash_attention_for_cpu";
constexpr const char* kBackward = "aten::_scaled_dot_product_flash_attention_for_cpu_backward";

bool has_attention() { return c10::Dispatcher::singleton().findSchema({kForward, ""}).has_value(); }

OperatorCall captured(const char* name, const std::vector<c10::IValue>& inputs) {
  OperatorCall call;
  call.name = name;
  call.inputs = inputs;
  call.outputs = inputs;
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(call.outputs);
  return call;
}

void every_output_is_given(const OperatorCall& call) {
  const auto orders = orders_of_captured(call, call.inputs);
  REQUIRE(orders.size() == call.outputs.size());
  for (const auto& [output, order] : orders) {
    CAPTURE(call.name, output, order.problem);
    REQUIRE(order.is_known());
    CHECK(order.replayed == call.outputs[output].toTensor().numel());
    CHECK(order.not_replayed == 0);
  }
}

TEST_CASE("an attention and its gradients are found among their forms", "[probe]") {
  if (!has_attention()) return;
  // Two blocks of queries. Other lengths have tiles that are not known on each CPU (suites/orders.md).
  for (const std::string sizes : {"2, 3, 64, 32", "1, 4, 64, 64"}) {
    const std::string one = "f32[" + sizes + "]";
    const std::string text = "_scaled_dot_product_flash_attention_for_cpu(" + one + ", " + one + ", " + one + ", 0.0, ";
    std::int64_t heads = 0, queries = 0, width = 0, samples = 0;
    REQUIRE(std::sscanf(sizes.c_str(), "%ld, %ld, %ld, %ld", &samples, &heads, &queries, &width) == 4);
    const std::int64_t rows = samples * heads * queries;
    for (const std::string causal : {"true)", "false)"}) {
      is_known(text + causal, "output.0", 2 * queries * width, rows * width);
      is_known(text + causal, "output.1", 2 * queries * width, rows);
      for (const std::string output : {"gradient.0", "gradient.1", "gradient.2"}) {
        is_known(text + causal, output, 3 * queries * width, rows * width);
      }
    }
  }
}

// The operator that chooses an implementation takes shared heads from 2.5 on, in steps before 2.9.
TEST_CASE("an attention whose implementation is chosen is found in blocks or in steps", "[probe]") {
  const auto schema = c10::Dispatcher::singleton().findSchema({"aten::scaled_dot_product_attention", ""});
  if (!schema.has_value()) return;
  struct Case {
    std::string q, k, behind;
    std::int64_t query_rows, key_rows;
  };
  std::vector<Case> cases = {{"f32[2, 3, 64, 32]", "f32[2, 3, 64, 32]", "", 384, 384}};
  if (schema->schema().argumentIndexWithName("enable_gqa").has_value()) {
    cases.push_back({"f32[2, 6, 64, 32]", "f32[2, 2, 64, 32]", ", enable_gqa=true", 768, 256});
  }
  constexpr std::int64_t kTerms = 64 * 32;
  for (const auto& [q, k, behind, query_rows, key_rows] : cases) {
    const std::string call =
        "scaled_dot_product_attention(" + q + ", " + k + ", " + k + ", none, 0.0, true" + behind + ")";
    is_known(call, "output.0", 2 * kTerms, query_rows * 32);
    is_known(call, "gradient.0", kTerms, query_rows * 32);
    is_known(call, "gradient.1", kTerms, key_rows * 32);
    is_known(call, "gradient.2", kTerms, key_rows * 32);
  }
}

TEST_CASE("an attention of a training and its backward pass are held against what they made", "[probe]") {
  if (!has_attention()) return;
  // As a model has them: heads stand behind the sequence in memory.
  const auto heads = [] { return at::randn({2, 64, 3, 32}).transpose(1, 2); };
  const at::Tensor q = heads();
  const at::Tensor k = heads();
  const at::Tensor v = heads();
  const c10::IValue none;
  const OperatorCall forward = captured(kForward, {q, k, v, 0.0, true, none, none});
  every_output_is_given(forward);
  OperatorCall backward =
      captured(kBackward, {heads(), q, k, v, forward.outputs[0], forward.outputs[1], 0.0, true, none, none});
  every_output_is_given(backward);

  at::Tensor other = backward.outputs[1].toTensor().contiguous().clone();
  static_cast<float*>(other.data_ptr())[77] *= 1 + 0x1p-21F;
  backward.outputs[1] = other;
  const CallOrder wrong = orders_of_captured(backward, backward.inputs)[1].second;
  CHECK(wrong.first_not_replayed == 77);
  CHECK(wrong.not_replayed == 1);
}

}  // namespace
}  // namespace attention_order_test
}  // namespace reprobench
