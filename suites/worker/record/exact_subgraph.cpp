#include "suites/worker/record/exact_subgraph.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "suites/worker/record/repeated_call.hpp"

namespace reprobench {
namespace {

using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

bool is_cast(const OperatorCall& call) {
  const bool has_type = call.name == "aten::to" || call.name == "aten::_to_copy";
  return has_type && call.outputs.size() == 1 && call.outputs[0].isTensor() &&
         call.outputs[0].toTensor().is_floating_point() && call.inputs[0].toTensor().is_floating_point();
}

}  // namespace

struct ExactSubgraph::Values {
  struct Exact {
    WeakTensor kept;  // so that its address stays its own
    at::Tensor value;
  };
  std::unordered_map<const void*, Exact> by_tensor;
  std::map<std::int64_t, CallStack> arguments;  // of calls that run
};

ExactSubgraph::ExactSubgraph(std::vector<std::int64_t> calls)
    : calls_(std::move(calls)), values_(std::make_unique<Values>()) {}
ExactSubgraph::~ExactSubgraph() = default;

std::optional<at::Tensor> ExactSubgraph::value_of(const at::Tensor& tensor) const {
  const auto found = values_->by_tensor.find(tensor.unsafeGetTensorImpl());
  if (found == values_->by_tensor.end() || found->second.value.sizes() != tensor.sizes()) return std::nullopt;
  return found->second.value;
}

// Also views of what the subgraph has made, which both sides may have alike.
void ExactSubgraph::started(const OperatorCall& call, std::int64_t index) {
  if (calls_.empty() || inside_ >= 0) return;
  const bool is_own = std::find(calls_.begin(), calls_.end(), index) != calls_.end();
  const auto inputs = tensors_in(call.inputs);
  const bool shows_own =
      call.traits->shows_input &&
      std::any_of(inputs.begin(), inputs.end(), [&](const at::Tensor& t) { return value_of(t).has_value(); });
  if (!is_own && !shows_own) return;
  inside_ = index;
  values_->arguments[index] = with_tensors(call.inputs, [&](const at::Tensor& tensor) {
    const auto exact = value_of(tensor);
    return exact ? exact->clone() : widened(tensor);
  });
}

void ExactSubgraph::ended(const OperatorCall& call, std::int64_t index) {
  if (inside_ != index) return;
  inside_ = -1;
  CallStack arguments = std::move(values_->arguments.at(index));
  values_->arguments.erase(index);
  if (!problem_.empty()) return;
  if (call.is_backward_node) {
    problem_ = "a backward node cannot be called by itself";
    return;
  }
  try {
    const CallStack results = is_cast(call) ? CallStack{arguments[0]} : call_again(call, std::move(arguments));
    const auto made = tensors_in(call.outputs);
    const auto exact = tensors_in(results);
    for (std::size_t i = 0; i < std::min(made.size(), exact.size()); ++i) {
      values_->by_tensor.insert_or_assign(made[i].unsafeGetTensorImpl(),
                                          Values::Exact{WeakTensor(made[i].getIntrusivePtr()), exact[i]});
    }
  } catch (const std::exception& error) {
    const std::string text = error.what();
    problem_ = call.name + ": " + text.substr(0, text.find('\n'));
  }
}

}  // namespace reprobench
