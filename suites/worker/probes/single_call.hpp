// One declared operator call (contract/declared_call.hpp) on this stack. The dispatcher finds it, and its tensors are
// drawn by Philox or taken from a file of the user's. It runs forward and, where a tensor asks for a gradient,
// backward.
//
// Every run draws its arguments anew, so an operator that writes into them does not affect the next run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/declared_call.hpp"

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
struct IValue;
}  // namespace c10

namespace reprobench {

// The tensors that a call made, by name: "output.0", "changed.2" (argument 2, which it wrote), "gradient.0" (of
// argument 0).
using MadeTensors = std::vector<std::pair<std::string, at::Tensor>>;

class CallTensors;

struct SingleCallPlace {
  std::uint64_t seed;
  const c10::Device& device;
  const CallTensors* tensors = nullptr;  // needed by calls that take tensors of a file
};

// An uninitialised tensor of the declared dtype and shape, row-major on the CPU.
at::Tensor empty_as(const DeclaredTensor& declared);

class SingleCall {
 public:
  SingleCall(DeclaredCall call, SingleCallPlace place);
  ~SingleCall();
  SingleCall(const SingleCall&) = delete;
  SingleCall& operator=(const SingleCall&) = delete;

  // Why this release does not have the call at all; empty if it has.
  const std::string& absent() const { return absent_; }

  // Why the call is not made, whatever the release has: it would reach beyond tensors (contract/call_policy.hpp).
  const std::string& refused() const { return refused_; }

  // Makes the call once, with arguments of its own. With `is_exact` it runs in fp64, on the values that the declared
  // types hold. `inputs` becomes the digest of the arguments and of the tensors that the backward pass was given.
  // Throws whatever LibTorch throws.
  MadeTensors run(bool is_exact, Digest* inputs = nullptr) const;

  // The work to be timed: the same call again and again, on one set of arguments.
  std::function<at::Tensor()> repeated() const;

  // The call's tensors as it lays them out, filled with zero, on the CPU. The operator must be neither absent nor
  // refused.
  std::vector<at::Tensor> blank_tensors() const;

  // The values that run() gives the tensors, on the CPU; for an output whose gradients it asks for, also the tensor
  // that it gives the backward pass.
  std::vector<at::Tensor> drawn_tensors(const at::Tensor* output = nullptr) const;

  // Makes the call once on these values and returns `output`, on the CPU; "output.0" takes no backward pass. For a
  // gradient, the tensor that the backward pass is given stands after the call's tensors, with the output's elements.
  // Throws whatever LibTorch throws, and RunFailure "unsupported" where the call makes no such tensor.
  at::Tensor run_on(const std::vector<at::Tensor>& tensors, const std::string& output) const;

  // A planted fault: called with the first tensor argument before it is used.
  std::function<void(at::Tensor&)> spoil_argument = {};

 private:
  struct Operator;  // of the dispatcher
  struct Arguments;

  // `values` are those of the call's tensors; with null they are drawn. Without `with_leaves` nothing is
  // differentiated.
  Arguments arguments_of(bool is_exact, const std::vector<at::Tensor>* values = nullptr, bool with_leaves = true) const;
  at::Tensor seed_for(const at::Tensor& output, const std::string& name) const;
  MadeTensors made_by(Arguments& arguments, DigestBuilder* inputs) const;
  void add_changed(const Arguments& arguments, const std::vector<at::Tensor>& outputs, MadeTensors& made) const;

  DeclaredCall call_;
  SingleCallPlace place_;
  std::unique_ptr<Operator> operator_;
  std::string refused_;
  std::string absent_;
};

}  // namespace reprobench
