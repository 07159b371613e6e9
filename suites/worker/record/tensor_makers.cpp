#include "suites/worker/record/tensor_makers.hpp"

#include <unordered_map>

#include <ATen/core/Tensor.h>

namespace reprobench {
namespace {

using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

}  // namespace

struct TensorMakers::Entries {
  template <class Weak>
  struct Made {
    Weak kept;  // so that its address stays its own
    std::int64_t call;
    std::int64_t time;
  };

  std::unordered_map<const void*, Made<WeakTensor>> objects;
  std::unordered_map<const void*, Made<WeakStorage>> memory;
  std::int64_t time = 0;

  void note_memory(const at::Tensor& tensor, std::int64_t call) {
    if (!tensor.has_storage()) return;
    memory.insert_or_assign(tensor.storage().unsafeGetStorageImpl(),
                            Made<WeakStorage>{tensor.storage().getWeakStorageImpl(), call, ++time});
  }
};

TensorMakers::TensorMakers() : entries_(std::make_unique<Entries>()) {}
TensorMakers::~TensorMakers() = default;

std::int64_t TensorMakers::maker_of(const at::Tensor& tensor) const {
  std::int64_t call = -1;
  std::int64_t time = -1;
  const auto object = entries_->objects.find(tensor.unsafeGetTensorImpl());
  if (object != entries_->objects.end()) {
    call = object->second.call;
    time = object->second.time;
  }
  if (!tensor.has_storage()) return call;
  const auto memory = entries_->memory.find(tensor.storage().unsafeGetStorageImpl());
  return memory != entries_->memory.end() && memory->second.time > time ? memory->second.call : call;
}

std::int64_t TensorMakers::maker_of_memory(const void* storage) const {
  const auto found = entries_->memory.find(storage);
  return found == entries_->memory.end() ? -1 : found->second.call;
}

void TensorMakers::returned(const at::Tensor& tensor, std::int64_t call, bool is_view) {
  if (!is_view) entries_->note_memory(tensor, call);
  entries_->objects.insert_or_assign(
      tensor.unsafeGetTensorImpl(),
      Entries::Made<WeakTensor>{WeakTensor(tensor.getIntrusivePtr()), call, ++entries_->time});
}

void TensorMakers::wrote(const at::Tensor& tensor, std::int64_t call) { entries_->note_memory(tensor, call); }

void TensorMakers::clear() {
  entries_->objects.clear();
  entries_->memory.clear();
}

}  // namespace reprobench
