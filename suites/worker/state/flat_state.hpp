// All trained parameters of a training in one buffer, what the optimizer keeps of them in one buffer each, and an
// update that goes over all of them once (the knob `optimizer_layout`).
//
// Parameters are tensors of their own over parts of the buffer, by the names they always have: forward passes, traces
// and checkpoints see no difference. Each begins at a multiple of 64 bytes, as memory of LibTorch's own does, so that
// no kernel takes another path for it. Gradients are read where the backward pass left them: one buffer for them would
// have to be zeroed before each step and added to, which is two passes more and makes +0.0 of a gradient of -0.0.
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
  // Room for what is not frozen among `specs`, on the CPU, in fp32 or fp64; everything begins as zeros.
  FlatState(std::span<const ParameterSpec> specs, const Optimizer& optimizer, bool is_double);
  ~FlatState();
  FlatState(const FlatState&) = delete;
  FlatState& operator=(const FlatState&) = delete;

  // The part of a parameter, by its place among the specs, and of the `number`-th tensor that the optimizer keeps of
  // it; of the parameter's shape. Not for a frozen one.
  at::Tensor parameter(std::size_t index) const;
  at::Tensor kept(std::size_t index, std::size_t number) const;

  // One step on every parameter whose gradient is defined; `gradients` and `decays` by the specs' places. Gradients are
  // of the parameter's type. Work is cut into equal runs of elements, whatever the number of threads.
  void update(const Optimizer& optimizer, std::span<const at::Tensor> gradients, const std::vector<bool>& decays) const;

 private:
  struct Buffers;
  template <class T>
  void update_as(const Optimizer& optimizer, std::span<const at::Tensor> gradients,
                 const std::vector<bool>& decays) const;

  std::unique_ptr<Buffers> buffers_;
};

}  // namespace reprobench
