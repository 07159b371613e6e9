#include "suites/worker/probes/captured_call_order.hpp"

#include <exception>
#include <optional>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "matrix/contract/declared_call.hpp"
#include "matrix/orders/order_layout.hpp"
#include "suites/worker/probes/call_order_probe.hpp"
#include "suites/worker/probes/single_call.hpp"
#include "suites/worker/record/repeated_call.hpp"

namespace reprobench {
namespace {

constexpr std::uint64_t kSeed = 1;  // of the random inputs that an order is checked on
constexpr double kSeconds = 2;      // for one output: an explanation captures dozens of calls
constexpr std::string_view kAten = "aten::";

std::optional<std::string> declared_dtype(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return "f64";
    case at::kFloat:
      return "f32";
    case at::kHalf:
      return "f16";
    case at::kBFloat16:
      return "bf16";
    default:
      return std::nullopt;
  }
}

std::optional<DeclaredTensor> declared_tensor(const at::Tensor& tensor) {
  const auto dtype = declared_dtype(tensor.scalar_type());
  if (!dtype || tensor.numel() == 0) return std::nullopt;
  DeclaredTensor declared;
  declared.dtype = *dtype;
  declared.shape = tensor.sizes().vec();
  if (tensor.is_contiguous()) return declared;
  declared.strides = tensor.strides().vec();
  for (std::int64_t axis = 0; axis < tensor.dim(); ++axis) {
    // Elements that share memory cannot be told apart.
    if (tensor.stride(axis) == 0 && tensor.size(axis) > 1) return std::nullopt;
  }
  return declared;
}

// Nothing: an argument that no list of calls can write.
std::optional<DeclaredArgument> declared_argument(const at::IValue& value) {
  if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return DeclaredArgument{"", NoValue{}};
  if (value.isTensor()) {
    auto tensor = declared_tensor(value.toTensor());
    if (!tensor) return std::nullopt;
    return DeclaredArgument{"", std::move(*tensor)};
  }
  if (value.isBool()) return DeclaredArgument{"", value.toBool()};
  if (value.isInt()) return DeclaredArgument{"", value.toInt()};
  if (value.isDouble()) return DeclaredArgument{"", value.toDouble()};
  if (value.isIntList()) return DeclaredArgument{"", value.toIntVector()};
  if (value.isBoolList()) {
    DeclaredFlags flags;
    for (const bool flag : value.toBoolList()) flags.push_back(flag);
    return DeclaredArgument{"", std::move(flags)};
  }
  return std::nullopt;
}

std::optional<DeclaredCall> declared(const OperatorCall& call, const std::vector<c10::IValue>& inputs) {
  if (call.is_backward_node || !call.name.starts_with(kAten)) return std::nullopt;
  DeclaredCall made;
  made.name = call.name.substr(kAten.size());
  made.overload = call.overload;
  made.text = call.name;
  for (const c10::IValue& value : inputs) {
    auto argument = declared_argument(value);
    if (!argument) return std::nullopt;
    made.arguments.push_back(std::move(*argument));
  }
  return made;
}

}  // namespace

std::vector<std::pair<std::size_t, CallOrder>> orders_of_captured(const OperatorCall& call,
                                                                  const std::vector<c10::IValue>& inputs) {
  std::vector<std::pair<std::size_t, CallOrder>> orders;
  const auto as_declared = declared(call, inputs);
  if (!as_declared) return orders;
  const std::vector<at::Tensor> outputs = tensors_in(call.outputs);
  std::vector<at::Tensor> tensors;
  for (const at::Tensor& tensor : tensors_in(inputs)) tensors.push_back(tensor.detach().to(at::kCPU));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_floating_point()) continue;
    const std::string name = "output." + std::to_string(i);
    CallOrder order;
    const auto layout = order_layout(*as_declared, name, order.problem);
    if (!layout) {
      orders.emplace_back(i, std::move(order));
      continue;
    }
    try {
      const c10::Device device = outputs[i].device();
      const SingleCall single(*as_declared, {kSeed, device});
      OrderLimits limits;
      limits.seconds = kSeconds;
      const at::Tensor made = outputs[i].detach();
      order = order_of_call(single, *layout, name, {tensors, made}, kSeed, limits);
    } catch (const std::exception& error) {
      const std::string text = error.what();
      order = {};
      order.problem = text.substr(0, text.find('\n'));
    }
    orders.emplace_back(i, std::move(order));
  }
  return orders;
}

}  // namespace reprobench
