#include "suites/worker/state/offloaded_update.hpp"

#include <algorithm>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace reprobench {
namespace {

// 64 bytes of fp32: a tensor that begins there is computed as one with memory of its own is.
constexpr std::int64_t kAlignedElements = 16;

std::int64_t room_of(const at::Tensor& tensor) {
  return (tensor.numel() + kAlignedElements - 1) / kAlignedElements * kAlignedElements;
}

// For the copies that were queued. The CPU copies before it returns.
void wait_for_copies(const c10::Device& where) {
  if (where.is_cpu()) return;
  const c10::impl::VirtualGuardImpl device(where.type());
  device.getStream(where).synchronize();
}

}  // namespace

struct OffloadedUpdate::Memory {
  explicit Memory(const c10::Device& device) : where(device) {}

  c10::Device where;
  std::map<std::size_t, at::Tensor> copies;
  std::int64_t largest = 0;  // elements of the largest copy: how much is under way at once
  at::Tensor staging;        // only while an update runs: beside a whole module there is no room for it
  at::Tensor none;
};

OffloadedUpdate::OffloadedUpdate(Offload offload, const c10::Device& where)
    : offload_(offload), memory_(std::make_unique<Memory>(where)) {}
OffloadedUpdate::~OffloadedUpdate() = default;

at::Tensor OffloadedUpdate::host_empty(const at::Tensor& like) const {
  const bool is_pinned = memory_->where.is_cuda();
  return at::empty(like.sizes(), at::TensorOptions(like.scalar_type()).pinned_memory(is_pinned));
}

at::Tensor OffloadedUpdate::zeros_like(const at::Tensor& tensor) const { return host_empty(tensor).zero_(); }

at::Tensor OffloadedUpdate::copy_of(const at::Tensor& tensor) const { return host_empty(tensor).copy_(tensor); }

void OffloadedUpdate::add(std::size_t index, const at::Tensor& trained) {
  const c10::NoGradGuard no_grad;
  const at::Tensor detached = trained.detach();
  const at::Tensor& copy =
      memory_->copies.emplace(index, has_parameters() ? detached : copy_of(detached)).first->second;
  memory_->largest = std::max(memory_->largest, room_of(copy));
}

const at::Tensor& OffloadedUpdate::copy(std::size_t index) const {
  const auto found = memory_->copies.find(index);
  return found == memory_->copies.end() ? memory_->none : found->second;
}

void OffloadedUpdate::take(std::size_t index, const at::Tensor& trained) {
  const auto found = memory_->copies.find(index);
  if (found == memory_->copies.end() || has_parameters()) return;
  const c10::NoGradGuard no_grad;
  found->second.copy_(trained.detach());
}

// Queues copies of the first gradients, as many as there is room for, and says how many those are.
std::size_t OffloadedUpdate::bring(std::span<OffloadedTensors> waiting, std::vector<at::Tensor>& brought) {
  brought.clear();
  std::int64_t place = 0;
  for (const OffloadedTensors& tensors : waiting) {
    if (place + tensors.gradient.numel() > memory_->staging.numel()) break;
    at::Tensor here = memory_->staging.narrow(0, place, tensors.gradient.numel()).view(tensors.gradient.sizes());
    here.copy_(tensors.gradient, /*non_blocking=*/true);
    brought.push_back(std::move(here));
    place += room_of(tensors.gradient);
  }
  return brought.size();
}

// A copy that is on its way back is read until the next wait, and nothing writes it before that.
void OffloadedUpdate::run(std::span<OffloadedTensors> all, const Optimizer& optimizer) {
  const c10::NoGradGuard no_grad;
  if (all.empty()) return;
  const at::TensorOptions options(all.front().gradient.scalar_type());
  memory_->staging = at::empty({memory_->largest}, options.pinned_memory(memory_->where.is_cuda()));
  std::vector<at::Tensor> brought;
  while (!all.empty()) {
    const std::size_t count = bring(all, brought);
    wait_for_copies(memory_->where);
    for (std::size_t i = 0; i < count; ++i) {
      at::Tensor& copy = memory_->copies.at(all[i].index);
      copy.mutable_grad() = std::move(brought[i]);
      optimizer.step({copy, all[i].kept, all[i].scratch, all[i].decays}, nullptr);
      copy.mutable_grad() = at::Tensor();
      if (!has_parameters() && all[i].index != forgotten_) all[i].trained.copy_(copy, /*non_blocking=*/true);
    }
    all = all.subspan(count);
  }
  forgotten_.reset();
}

void OffloadedUpdate::release_staging() { memory_->staging = at::Tensor(); }

std::int64_t OffloadedUpdate::staging_bytes() const {
  return memory_->staging.defined() ? static_cast<std::int64_t>(memory_->staging.nbytes()) : 0;
}

}  // namespace reprobench
