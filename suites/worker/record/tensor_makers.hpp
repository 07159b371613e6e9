// Knows which operator call of a step made or last wrote a tensor.
//
// A tensor is known as the object that a call returned, which tells views of one memory apart, and by its memory, which
// writing in place changes. The later of the two counts. If nested calls return one tensor, the outermost is kept,
// since it ends last. Object and memory are held weakly, so that a reused address is not taken for the tensor that was
// there before.
#pragma once

#include <cstdint>
#include <memory>

namespace at {
class Tensor;
}

namespace reprobench {

class TensorMakers {
 public:
  TensorMakers();
  ~TensorMakers();

  // The index of the call; -1: none since clear().
  std::int64_t maker_of(const at::Tensor& tensor) const;
  // The same for memory that a call has returned, by its StorageImpl, which may be gone by now.
  std::int64_t maker_of_memory(const void* storage) const;

  void returned(const at::Tensor& tensor, std::int64_t call, bool is_view);
  void wrote(const at::Tensor& tensor, std::int64_t call);
  void clear();

 private:
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

}  // namespace reprobench
