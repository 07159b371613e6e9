#include "suites/worker/record/repeated_call.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace reprobench {
namespace {

using Change = std::function<at::Tensor(const at::Tensor&)>;

at::IValue changed_value(const at::IValue& value, const Change& change) {
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
    if (element.isTensor()) list.set(i, changed_value(element, change));
  }
  return at::IValue(list);
}

struct Callee {
  const char* name;
  std::string overload;
};

// oneDNN's convolution has no fp64; the operator that chooses it has, and takes the same in another order:
// mkldnn_convolution(x, w, b, padding, stride, dilation, groups) for
// convolution(x, w, b, stride, padding, dilation, transposed, output padding, groups).
Callee in_any_precision(const OperatorCall& call, CallStack& arguments) {
  if (call.name != "aten::mkldnn_convolution" || arguments.size() != 7) return {call.name.c_str(), call.overload};
  const at::IValue padding = arguments[3];
  const at::IValue groups = arguments[6];
  arguments[3] = arguments[4];
  arguments[4] = padding;
  arguments.pop_back();
  arguments.emplace_back(false);
  arguments.emplace_back(std::vector<std::int64_t>(padding.toListRef().size(), 0));
  arguments.push_back(groups);
  return {"aten::convolution", ""};
}

}  // namespace

CallStack with_tensors(const CallStack& values, const Change& change) {
  CallStack changed;
  changed.reserve(values.size());
  for (const at::IValue& value : values) changed.push_back(changed_value(value, change));
  return changed;
}

std::vector<at::Tensor> tensors_in(const CallStack& values) {
  std::vector<at::Tensor> tensors;
  for (const at::IValue& value : values) {
    visit_tensors(value, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  }
  return tensors;
}

at::Tensor widened(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return tensor.is_floating_point() && tensor.scalar_type() != at::kDouble ? plain.to(at::kDouble) : plain.clone();
}

CallStack call_again(const OperatorCall& call, CallStack arguments) {
  const c10::NoGradGuard no_grad;
  const c10::impl::ExcludeDispatchKeyGuard below_autograd(c10::autograd_dispatch_keyset);
  const c10::impl::ExcludeDispatchKeyGuard below_autocast(c10::autocast_dispatch_keyset);
  CallStack filled;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (call.is_filled(i)) filled.push_back(arguments[i]);
  }
  const Callee callee = in_any_precision(call, arguments);
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(callee.name, callee.overload.c_str());
  handle.callBoxed(&arguments);
  arguments.insert(arguments.end(), filled.begin(), filled.end());
  return arguments;
}

}  // namespace reprobench
