#include "suites/worker/record/operator_capture.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/abs.h>
#include <nlohmann/json.hpp>

#include "matrix/contract/document/writer.hpp"
#include "suites/worker/probes/captured_call_order.hpp"
#include "suites/worker/record/exact_subgraph.hpp"
#include "suites/worker/record/host_tensor.hpp"
#include "suites/worker/record/repeated_call.hpp"
#include "suites/worker/record/tensor_file.hpp"

namespace reprobench {
namespace {

// Every second element one unit in the last place of fp32 further from zero, the others nearer.
at::Tensor moved(const at::Tensor& tensor) {
  at::Tensor copy = on_host(widened(tensor)).clone();
  if (copy.scalar_type() != at::kDouble) return copy;
  auto* values = static_cast<double*>(copy.data_ptr());
  for (std::int64_t i = 0; i < copy.numel(); ++i) values[i] *= i % 2 == 0 ? 1 + 0x1p-23 : 1 - 0x1p-24;
  return copy.to(tensor.device());
}

at::Tensor sizes_of(const at::Tensor& tensor) {
  const at::Tensor copy = widened(tensor);
  return copy.scalar_type() == at::kDouble ? copy.abs() : copy;
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

Squares squares_between(const CallStack& changed, const CallStack& values) {
  Squares squares;
  const auto a = tensors_in(changed);
  const auto b = tensors_in(values);
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) add_squares(squares, a[i], b[i]);
  return squares;
}

void add_named(NamedTensors& named, const std::string& prefix, const CallStack& values) {
  std::size_t index = 0;
  for (const at::Tensor& tensor : tensors_in(values)) named.emplace_back(prefix + std::to_string(index++), tensor);
}

}  // namespace

OperatorCapture::OperatorCapture(const OperatorCall& call, const ExactSubgraph& subgraph)
    : inputs_(with_tensors(call.inputs, [](const at::Tensor& tensor) { return tensor.detach().clone(); })),
      exact_inputs_(with_tensors(call.inputs, [&](const at::Tensor& tensor) {
        const auto exact = subgraph.value_of(tensor);
        return exact ? exact->clone() : widened(tensor);
      })) {}

OperatorCapture::~OperatorCapture() = default;

void OperatorCapture::finish(const OperatorCall& call, const ExactSubgraph& subgraph,
                             const std::filesystem::path& path) const {
  NamedTensors named;
  SafetensorsMetadata metadata = {{"operator", call.name}, {"overload", call.overload}};
  add_named(named, "input.", inputs_);
  add_named(named, "exact_input.", exact_inputs_);
  add_named(named, "output.", call.outputs);
  if (!subgraph.problem().empty()) metadata["subgraph"] = subgraph.problem();
  if (call.is_backward_node) {
    metadata["fp64"] = "a backward node cannot be called by itself";
    write_tensors(path, named, metadata);
    return;
  }
  for (const auto& [output, order] : orders_of_captured(call, inputs_)) {
    metadata["order." + std::to_string(output)] = written(order).dump();
  }
  try {
    const CallStack moved_inputs = with_tensors(inputs_, moved);
    const Squares of_inputs = squares_between(moved_inputs, exact_inputs_);
    const CallStack exact = call_again(call, with_tensors(exact_inputs_, widened));
    const CallStack shaken = call_again(call, moved_inputs);
    add_named(named, "fp64.", exact);
    add_named(named, "magnitude.", call_again(call, with_tensors(inputs_, sizes_of)));
    if (of_inputs.size > 0) {
      metadata["amplification"] = nlohmann::json(squares_between(shaken, exact).ratio() / of_inputs.ratio()).dump();
    }
  } catch (const std::exception& error) {
    const std::string text = error.what();
    metadata["fp64"] = text.substr(0, text.find('\n'));
  }
  write_tensors(path, named, metadata);
}

}  // namespace reprobench
