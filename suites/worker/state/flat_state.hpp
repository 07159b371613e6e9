// All trained parameters of a training in one buffer, each kind of optimizer state in one buffer, and an update that
// goes over all of them once (the knob `optimizer_layout`).
//
// Parameters are tensors of their own over parts of the buffer, by the names they always have: forward passes, traces
// and checkpoints see no difference. Each begins at a multiple of 64 bytes, as LibTorch's own memory does, so that no
// kernel takes another path for it. Gradients are read where the backward pass left them. One buffer for them would
// have to be zeroed before each step and added to, which takes two more passes and turns a gradient of -0.0 into +0.0.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "matrix/contract/settings.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/state/optimizer.hpp"

namespace reprobench {

class FlatState {
 public:
  // Makes room for the parameters of `specs` that are not frozen, on the CPU, in fp32 or fp64; everything begins as
  // zeros.
  FlatState(std::span<const ParameterSpec> specs, const Optimizer& optimizer, bool is_double);
  ~FlatState();
  FlatState(const FlatState&) = delete;
  FlatState& operator=(const FlatState&) = delete;

  // The buffer's part for a parameter, by its index among the specs, and for tensor `number` of its optimizer state.
  // Both have the parameter's shape. They must not be called for a frozen parameter.
  at::Tensor parameter(std::size_t index) const;
  at::Tensor kept(std::size_t index, std::size_t number) const;

  // One step on every parameter whose gradient is defined; `gradients` and `decays` have the specs' order. Gradients
  // have the parameter's type. Work is cut into equal runs of elements, whatever the number of threads.
  void update(const Optimizer& optimizer, std::span<const at::Tensor> gradients, const std::vector<bool>& decays) const;

 private:
  struct Buffers;
  template <class T>
  void update_as(const Optimizer& optimizer, std::span<const at::Tensor> gradients,
                 const std::vector<bool>& decays) const;

  std::unique_ptr<Buffers> buffers_;
};

}  // namespace reprobench
