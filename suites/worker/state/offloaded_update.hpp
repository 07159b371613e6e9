// Offload (ZeRO-Offload, Ren et al. 2021; ZeRO-Infinity, Rajbhandari et al. 2021): the part of a training's state that
// lies on the host instead of on its device. The optimizer's states are there, and a copy of every parameter (with
// ZeRO, of a shard) that it updates. Gradients are copied to the host for the update, and updated parameters back. With
// `optimizer_and_param` the host has the shards of ZeRO 3 themselves, so nothing has to be copied back: gathering reads
// them.
//
// On a GPU the host's memory is pinned and copies are queued; the host waits once for a group of gradients. On the CPU
// the host is a second place all the same, with other memory than the training's, so that every copy is made there too.
//
// The update applies the same element-wise operators to the same values. So its bits are those without offload if both
// run on one kind of processor; the host's may differ from a GPU's by rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "matrix/contract/settings.hpp"
#include "suites/worker/state/optimizer.hpp"

namespace c10 {
struct Device;
}

namespace reprobench {

// A parameter's tensors in the training, and those of its optimizer on the host.
struct OffloadedTensors {
  std::size_t index;
  at::Tensor& trained;  // the parameter or shard, where the training runs
  const at::Tensor& gradient;
  std::vector<at::Tensor>& kept;
  at::Tensor& scratch;
  bool decays;
};

class OffloadedUpdate {
 public:
  // The training runs on `where`.
  OffloadedUpdate(Offload offload, const c10::Device& where);
  ~OffloadedUpdate();

  bool has_parameters() const { return offload_ == Offload::optimizer_and_param; }

  // New memory of the host, of the tensor's shape and type.
  at::Tensor zeros_like(const at::Tensor& tensor) const;
  at::Tensor copy_of(const at::Tensor& tensor) const;

  // From now on the parameter is updated on the host; `trained` is copied unless it lies in the host's memory already.
  void add(std::size_t index, const at::Tensor& trained);

  // The host's copy, or the parameter itself if it lies there; undefined for one that was not added.
  const at::Tensor& copy(std::size_t index) const;

  // Copies `trained` anew, after other code has written it.
  void take(std::size_t index, const at::Tensor& trained);

  // One step of `optimizer` on the host, after its begin(). Updated parameters are on their way back when it returns.
  void run(std::span<OffloadedTensors> all, const Optimizer& optimizer);

  // For a fault: the next update of that parameter is not copied back.
  void forget_to_return(std::size_t index) { forgotten_ = index; }

  // The size of the memory that gradients are copied into, from run() until it is released.
  std::int64_t staging_bytes() const;
  void release_staging();

 private:
  struct Memory;

  at::Tensor host_empty(const at::Tensor& like) const;
  std::size_t bring(std::span<OffloadedTensors> waiting, std::vector<at::Tensor>& brought);

  Offload offload_;
  std::unique_ptr<Memory> memory_;
  std::optional<std::size_t> forgotten_;
};

}  // namespace reprobench
