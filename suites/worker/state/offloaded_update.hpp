// Offload (ZeRO-Offload, Ren et al. 2021; ZeRO-Infinity, Rajbhandari et al. 2021): what a training keeps on the host
// instead of on its device. The optimizer's states lie there, and beside them a copy of every parameter (of ZeRO a
// shard) that it updates; gradients are brought there for the update, and updated parameters back. With
// `optimizer_and_param` the host has the shards of ZeRO 3 themselves, so nothing has to be brought back: gathering
// reads them.
//
// On a GPU the host's memory is pinned and copies are queued; the host waits once for a group of gradients. On the CPU
// it is a second place all the same, other memory than what trains, so that every copy is made there too.
//
// The update is the same element-wise operators on the same values, so bits are those of no offload where both run on
// one kind of processor; of a GPU's the host's may differ by rounding.
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

// What a training has of a parameter, and its optimizer of that on the host.
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
  // Of a training on `where`.
  OffloadedUpdate(Offload offload, const c10::Device& where);
  ~OffloadedUpdate();

  bool has_parameters() const { return offload_ == Offload::optimizer_and_param; }

  // New memory of the host, of the tensor's shape and type.
  at::Tensor zeros_like(const at::Tensor& tensor) const;
  at::Tensor copy_of(const at::Tensor& tensor) const;

  // From now on updates a parameter here; `trained` is copied unless its memory is the host's already.
  void add(std::size_t index, const at::Tensor& trained);

  // The host's copy, or that parameter itself; undefined for one that was not added.
  const at::Tensor& copy(std::size_t index) const;

  // After somebody else has written what is trained.
  void take(std::size_t index, const at::Tensor& trained);

  // One step of `optimizer` on the host, after its begin(). Updated parameters are on their way back when it returns.
  void run(std::span<OffloadedTensors> all, const Optimizer& optimizer);

  // For a fault: the next update of that parameter stays on the host.
  void forget_to_return(std::size_t index) { forgotten_ = index; }

  // Memory that gradients are brought into, from run() until it is released.
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
