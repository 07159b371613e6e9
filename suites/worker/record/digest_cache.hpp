// Digests of tensors that several operator calls of a step read, so that each is computed once.
//
// A digest is kept only for what stands at the boundary of an outermost call: its inputs before it begins, its results
// when it has ended. Inside a call kernels write memory that no schema tells of; what is kept from outside is safe from
// that, because a kernel writes only what it made itself or what its schema says, and that is forgotten here. An entry
// dies with its storage, so memory that is used again is never taken for what it held before.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace at {
class Tensor;
}

namespace reprobench {

struct TensorContent {
  std::string digest;
  std::int64_t not_finite = 0;
};

class DigestCache {
 public:
  DigestCache();
  ~DigestCache();

  // What is known of `tensor`, or what it holds now; `keep` says whether to remember it.
  TensorContent known_content(const at::Tensor& tensor, bool keep);
  TensorContent fresh_content(const at::Tensor& tensor, bool keep);

  void forget(const at::Tensor& tensor);  // whatever shares its memory
  void clear();

 private:
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

}  // namespace reprobench
