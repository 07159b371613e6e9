// Which operator call of a step made or last wrote a tensor.
//
// A tensor is known as the object a call returned, which tells views of one memory apart, and by its memory, which is
// what writing in place changes; the later of the two counts. Of nested calls that return one tensor the outermost is
// kept, since it ends last. Both are held weakly, so that no address is taken for what stood there before.
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

  // Index of the call; -1: none since clear().
  std::int64_t maker_of(const at::Tensor& tensor) const;
  // Of memory by its StorageImpl, which a call has returned; it may be gone by now.
  std::int64_t maker_of_memory(const void* storage) const;

  void returned(const at::Tensor& tensor, std::int64_t call, bool is_view);
  void wrote(const at::Tensor& tensor, std::int64_t call);
  void clear();

 private:
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

}  // namespace reprobench
