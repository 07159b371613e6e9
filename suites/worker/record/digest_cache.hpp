// Digests of tensors that several operator calls of a step read, so that each is computed once.
//
// A digest is kept only at the boundary of an outermost call: that of its inputs before it begins, and of its results
// when it has ended. Inside a call, kernels write memory that no schema names. Digests kept from outside are safe from
// that: a kernel writes only memory that it made itself or that its schema names, and digests of the latter are
// forgotten here. An entry dies with its storage, so memory that is used again is never taken for what it held before.
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

  // The known content of `tensor`, or else its present content, as fresh_content() always reads it. `keep` says whether
  // to remember it.
  TensorContent known_content(const at::Tensor& tensor, bool keep);
  TensorContent fresh_content(const at::Tensor& tensor, bool keep);

  void forget(const at::Tensor& tensor);  // forgets all tensors that share its memory
  void clear();

 private:
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

}  // namespace reprobench
