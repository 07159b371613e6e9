#include "suites/worker/faults/operator_fault.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/matmul.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "suites/worker/record/host_tensor.hpp"

namespace reprobench {
namespace {

using Stack = std::vector<at::IValue>;

struct OperatorFaultKind {
  std::string_view name;
  std::vector<std::string_view> operators;
  bool every_call;  // or only the `element`-th of each step
  // What the operator should have returned, from its inputs; nothing: this call is left alone.
  std::optional<Stack> (*replace)(const OperatorCall& call, const Stack& inputs);
};

bool is_float(const at::Tensor& tensor) { return tensor.scalar_type() == at::kFloat; }

// A product as its operator takes it: `addend` times beta plus alpha times `left` times `right`.
struct Product {
  at::Tensor left;   // (..., M, K)
  at::Tensor right;  // (..., K, N)
  at::Tensor addend;
};

std::optional<Product> product_of(const OperatorCall& call, const Stack& inputs) {
  Product product;
  if (call.name == "aten::mm" || call.name == "aten::bmm") {
    product = {inputs[0].toTensor(), inputs[1].toTensor(), {}};
  } else {
    if (inputs[3].toScalar().toDouble() != 1 || inputs[4].toScalar().toDouble() != 1) return std::nullopt;
    product = {inputs[1].toTensor(), inputs[2].toTensor(), inputs[0].toTensor()};
  }
  if (!is_float(product.left) || !is_float(product.right)) return std::nullopt;
  return product;
}

Stack returned(const Product& product, const at::Tensor& value) {
  return {product.addend.defined() ? at::IValue(product.addend + value) : at::IValue(value)};
}

// Sums over K in two halves.
std::optional<Stack> other_order(const OperatorCall& call, const Stack& inputs) {
  const auto product = product_of(call, inputs);
  if (!product) return std::nullopt;
  const std::int64_t depth = product->left.size(-1);
  if (depth < 2) return std::nullopt;
  const std::int64_t half = depth / 2;
  const at::Tensor first = at::matmul(product->left.narrow(-1, 0, half), product->right.narrow(-2, 0, half));
  const at::Tensor second =
      at::matmul(product->left.narrow(-1, half, depth - half), product->right.narrow(-2, half, depth - half));
  return returned(*product, first + second);
}

// To the 10 stored bits of a TF32 mantissa, to nearest, ties away from zero, as tensor cores' inputs are prepared.
at::Tensor rounded_to_tf32(const at::Tensor& tensor) {
  at::Tensor rounded = on_host(tensor).clone();
  auto* bits = static_cast<std::uint32_t*>(rounded.data_ptr());
  for (std::int64_t i = 0; i < rounded.numel(); ++i) bits[i] = (bits[i] + 0x1000u) & ~0x1fffu;
  return rounded.to(tensor.device());
}

std::optional<Stack> in_tf32(const OperatorCall& call, const Stack& inputs) {
  const auto product = product_of(call, inputs);
  if (!product) return std::nullopt;
  return returned(*product, at::matmul(rounded_to_tf32(product->left), rounded_to_tf32(product->right)));
}

// Partial sums of 16 terms kept in bfloat16.
std::optional<Stack> accumulated_in_16_bits(const OperatorCall& call, const Stack& inputs) {
  constexpr std::int64_t kChunk = 16;
  const auto product = product_of(call, inputs);
  if (!product) return std::nullopt;
  at::Tensor sum;
  for (std::int64_t k = 0; k < product->left.size(-1); k += kChunk) {
    const std::int64_t width = std::min(kChunk, product->left.size(-1) - k);
    const at::Tensor part = at::matmul(product->left.narrow(-1, k, width), product->right.narrow(-2, k, width));
    sum = (sum.defined() ? sum + part : part).to(at::kBFloat16).to(at::kFloat);
  }
  return returned(*product, sum);
}

Stack called_with(const OperatorCall& call, Stack arguments) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(call.name.c_str(), call.overload.c_str());
  handle.callBoxed(&arguments);
  return arguments;
}

// native_layer_norm(input, normalized_shape, weight, bias, eps)
std::optional<Stack> with_larger_epsilon(const OperatorCall& call, const Stack& inputs) {
  Stack arguments = inputs;
  arguments[4] = arguments[4].toDouble() * 1.1;
  return called_with(call, std::move(arguments));
}

// gelu(input, approximate), _softmax(input, dim, half_to_float): a constant factor of the input, wrong in its 20th bit.
std::optional<Stack> with_scaled_input(const OperatorCall& call, const Stack& inputs) {
  if (!is_float(inputs[0].toTensor())) return std::nullopt;
  Stack arguments = inputs;
  arguments[0] = inputs[0].toTensor() * (1 + 0x1p-20);
  return called_with(call, std::move(arguments));
}

// Two at once: products are summed in another order, which rounds, and what is multiplied in place, a weight that
// decays or Adam's moments, is multiplied twice, which is a defect. It stands behind the other and takes equal values.
std::optional<Stack> other_order_and_twice(const OperatorCall& call, const Stack& inputs) {
  if (call.name != "aten::mul_") return other_order(call, inputs);
  if (call.overload != "Scalar" || !is_float(inputs[0].toTensor())) return std::nullopt;
  return Stack{call.outputs[0].toTensor().variable_data().mul(inputs[1].toScalar())};
}

// What native_batch_norm(x, weight, bias, running mean, running variance, training, momentum, eps) makes of a batch:
// y, mean, 1/sigma, and the running statistics that it fills.
struct BatchStatistics {
  double momentum;
  double count;  // numbers of a channel
  at::Tensor mean;
  at::Tensor variance;  // of these numbers, divided by their count
};

std::optional<BatchStatistics> batch_statistics(const OperatorCall& call, const Stack& inputs) {
  if (call.filled.size() != 2 || call.outputs.size() != 5) return std::nullopt;
  const at::Tensor& x = inputs[0].toTensor();
  const at::Tensor& inverse = call.outputs[2].toTensor();
  return BatchStatistics{inputs[6].toDouble(), static_cast<double>(x.numel() / x.size(1)), call.outputs[1].toTensor(),
                         inverse.mul(inverse).reciprocal() - inputs[7].toDouble()};
}

// By N and not by N - 1.
std::optional<Stack> with_biased_variance(const OperatorCall& call, const Stack& inputs) {
  const auto batch = batch_statistics(call, inputs);
  if (!batch) return std::nullopt;
  Stack made = call.outputs;
  made[4] = made[4].toTensor() - batch->variance * (batch->momentum / (batch->count - 1));
  return made;
}

// A batch counts for twice as much.
std::optional<Stack> with_twice_the_momentum(const OperatorCall& call, const Stack& inputs) {
  const auto batch = batch_statistics(call, inputs);
  if (!batch || batch->momentum >= 1) return std::nullopt;
  Stack made = call.outputs;
  const at::Tensor of_batch[] = {batch->mean, batch->variance * (batch->count / (batch->count - 1))};
  for (const std::size_t i : {0, 1}) {
    const at::Tensor before = (made[3 + i].toTensor() - of_batch[i] * batch->momentum) / (1 - batch->momentum);
    made[3 + i] = before * (1 - 2 * batch->momentum) + of_batch[i] * (2 * batch->momentum);
  }
  return made;
}

const std::vector<OperatorFaultKind>& kinds() {
  static const std::vector<std::string_view> kProducts = {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"};
  static const std::vector<std::string_view> kProductsAndDecay = {"aten::mm", "aten::bmm", "aten::addmm",
                                                                  "aten::baddbmm", "aten::mul_"};
  // clang-format off
  static const std::vector<OperatorFaultKind> kRows = {
      // name                operators                    every call  what the call returns instead
      {"reduction_order",    kProducts,                   false,      &other_order},
      {"tf32",               kProducts,                   true,       &in_tf32},
      {"accumulate_16_bit",  kProducts,                   true,       &accumulated_in_16_bits},
      {"layer_norm_epsilon", {"aten::native_layer_norm"}, true,       &with_larger_epsilon},
      {"gelu_scale",         {"aten::gelu"},              true,       &with_scaled_input},
      {"softmax_scale",      {"aten::_softmax"},          true,       &with_scaled_input},
      {"order_and_decay",    kProductsAndDecay,           true,       &other_order_and_twice},
      {"running_variance_biased", {"aten::native_batch_norm"}, true,  &with_biased_variance},
      {"running_momentum",   {"aten::native_batch_norm"}, true,       &with_twice_the_momentum},
  };
  // clang-format on
  return kRows;
}

// Over the bytes that are there, so that views and what autograd saved see it, and no version counter moves.
void overwrite(const at::IValue& output, const at::IValue& value) {
  if (!output.isTensor() || !output.toTensor().defined()) return;
  at::Tensor bytes = output.toTensor().variable_data();
  bytes.copy_(value.toTensor());
}

class ReplacedOutputs final : public OperatorFault {
 public:
  ReplacedOutputs(const OperatorFaultKind& kind, const Injection& injection) : kind_(kind), injection_(injection) {}

  void begin_step(std::int64_t step) override {
    // A process that resumes behind the one step in which a call is changed has nothing left to change.
    if (step_ == 0 && !kind_.every_call && step > injection_.step) is_met_ = true;
    step_ = step;
    calls_ = 0;
  }

  bool is_met() const override { return is_met_; }

  void started(OperatorCall&) override {}

  void ended(OperatorCall& call) override {
    if (step_ < injection_.step) return;
    const bool named = std::find(kind_.operators.begin(), kind_.operators.end(), call.name) != kind_.operators.end();
    if (!named || call.is_backward_node) return;
    const std::int64_t number = calls_++;
    if (!kind_.every_call && (step_ != injection_.step || number != injection_.element)) return;
    const c10::NoGradGuard no_grad;
    const c10::impl::ExcludeDispatchKeyGuard below_autograd(c10::autograd_dispatch_keyset);
    const c10::impl::ExcludeDispatchKeyGuard below_autocast(c10::autocast_dispatch_keyset);
    const auto values = kind_.replace(call, call.inputs);
    if (!values) return;
    is_met_ = true;
    for (std::size_t i = 0; i < std::min(values->size(), call.outputs.size()); ++i) {
      overwrite(call.outputs[i], (*values)[i]);
    }
  }

 private:
  const OperatorFaultKind& kind_;
  const Injection injection_;
  std::int64_t step_ = 0;
  std::int64_t calls_ = 0;
  bool is_met_ = false;
};

}  // namespace

std::unique_ptr<OperatorFault> OperatorFault::create(const Injection& injection) {
  for (const OperatorFaultKind& kind : kinds()) {
    if (kind.name == injection.kind) return std::make_unique<ReplacedOutputs>(kind, injection);
  }
  return nullptr;
}

}  // namespace reprobench
