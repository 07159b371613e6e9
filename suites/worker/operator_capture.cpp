#include "suites/worker/operator_capture.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "suites/worker/host_tensor.hpp"
#include "suites/worker/tensor_file.hpp"

namespace reprobench {
namespace {

using Stack = std::vector<at::IValue>;

// `value` with every tensor in it replaced by change(tensor).
template <class Change>
at::IValue with_tensors(const at::IValue& value, const Change& change) {
  if (value.isTensor()) return value.toTensor().defined() ? at::IValue(change(value.toTensor())) : value;
  if (value.isTensorList()) {
    std::vector<at::Tensor> changed;
    for (const at::Tensor& tensor : value.toTensorVector())
      changed.push_back(tensor.defined() ? change(tensor) : tensor);
    return at::IValue(changed);
  }
  if (!value.isList()) return value;
  // Lists of optional tensors, as `index` takes them, stay boxed.
  auto list = value.toList().copy();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const at::IValue element = list.get(i);
    if (element.isTensor()) list.set(i, with_tensors(element, change));
  }
  return at::IValue(list);
}

template <class Change>
Stack with_tensors(const Stack& values, const Change& change) {
  Stack changed;
  changed.reserve(values.size());
  for (const at::IValue& value : values) changed.push_back(with_tensors(value, change));
  return changed;
}

at::Tensor widened(const at::Tensor& tensor) {
  return tensor.is_floating_point() ? tensor.detach().to(at::kDouble) : tensor.detach().clone();
}

// Every second element one unit in the last place of fp32 further from zero, the others nearer.
at::Tensor moved(const at::Tensor& tensor) {
  at::Tensor copy = on_host(widened(tensor)).clone();
  if (copy.scalar_type() != at::kDouble) return copy;
  auto* values = static_cast<double*>(copy.data_ptr());
  for (std::int64_t i = 0; i < copy.numel(); ++i) values[i] *= i % 2 == 0 ? 1 + 0x1p-23 : 1 - 0x1p-24;
  return copy.to(tensor.device());
}

// The operator called `name` on `arguments`; throws whatever it throws.
Stack call_operator(const OperatorCall& call, Stack arguments) {
  const c10::NoGradGuard no_grad;
  const c10::impl::ExcludeDispatchKeyGuard below_autograd(c10::autograd_dispatch_keyset);
  const c10::impl::ExcludeDispatchKeyGuard below_autocast(c10::autocast_dispatch_keyset);
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(call.name.c_str(), call.overload.c_str());
  handle.callBoxed(&arguments);
  return arguments;
}

struct Squares {
  double change = 0;
  double size = 0;
  double ratio() const { return size > 0 ? std::sqrt(change / size) : 0; }
};

void add_squares(Squares& squares, const at::Tensor& changed, const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kDouble || changed.sizes() != tensor.sizes()) return;
  const at::Tensor a = on_host(changed);
  const at::Tensor b = on_host(tensor);
  const auto* x = static_cast<const double*>(a.data_ptr());
  const auto* y = static_cast<const double*>(b.data_ptr());
  for (std::int64_t i = 0; i < b.numel(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
    squares.change += (x[i] - y[i]) * (x[i] - y[i]);
    squares.size += y[i] * y[i];
  }
}

std::vector<at::Tensor> tensors_in(const Stack& values) {
  std::vector<at::Tensor> tensors;
  for (const at::IValue& value : values) {
    visit_tensors(value, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  }
  return tensors;
}

Squares squares_between(const Stack& changed, const Stack& values) {
  Squares squares;
  const auto a = tensors_in(changed);
  const auto b = tensors_in(values);
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) add_squares(squares, a[i], b[i]);
  return squares;
}

void add_named(NamedTensors& named, const std::string& prefix, const Stack& values) {
  std::size_t index = 0;
  for (const at::Tensor& tensor : tensors_in(values)) named.emplace_back(prefix + std::to_string(index++), tensor);
}

}  // namespace

OperatorCapture::OperatorCapture(const OperatorCall& call)
    : inputs_(with_tensors(call.inputs, [](const at::Tensor& tensor) { return tensor.detach().clone(); })) {}

OperatorCapture::~OperatorCapture() = default;

void OperatorCapture::finish(const OperatorCall& call, const std::filesystem::path& path) const {
  NamedTensors named;
  SafetensorsMetadata metadata = {{"operator", call.name}, {"overload", call.overload}};
  add_named(named, "input.", inputs_);
  add_named(named, "output.", call.outputs);
  if (call.is_backward_node) {
    metadata["fp64"] = "a backward node cannot be called by itself";
    write_tensors(path, named, metadata);
    return;
  }
  try {
    const Stack exact_inputs = with_tensors(inputs_, widened);
    const Stack moved_inputs = with_tensors(inputs_, moved);
    const Squares of_inputs = squares_between(moved_inputs, exact_inputs);
    const Stack exact = call_operator(call, exact_inputs);
    const Stack shaken = call_operator(call, moved_inputs);
    add_named(named, "fp64.", exact);
    if (of_inputs.size > 0) {
      metadata["amplification"] = std::to_string(squares_between(shaken, exact).ratio() / of_inputs.ratio());
    }
  } catch (const std::exception& error) {
    const std::string text = error.what();
    metadata["fp64"] = text.substr(0, text.find('\n'));
  }
  write_tensors(path, named, metadata);
}

}  // namespace reprobench
