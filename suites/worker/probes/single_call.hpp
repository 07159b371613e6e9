// One declared operator call (contract/declared_call.hpp) on this stack: found by the dispatcher, its tensors drawn by
// Philox or taken from a file of the user's, run forward and, where a tensor asks for a gradient, backward.
//
// Every run draws its arguments anew, so an operator that writes into them leaves the next run alone.
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

// What a call made, by name: "output.0", "changed.2" (an argument it wrote), "gradient.0" (of the argument there).
using MadeTensors = std::vector<std::pair<std::string, at::Tensor>>;

class CallTensors;

struct SingleCallPlace {
  std::uint64_t seed;
  const c10::Device& device;
  const CallTensors* tensors = nullptr;  // needed by calls that take tensors of a file
};

// Row-major on the CPU, of the declared dtype and shape; nothing is in it yet.
at::Tensor empty_as(const DeclaredTensor& declared);

class SingleCall {
 public:
  SingleCall(DeclaredCall call, SingleCallPlace place);
  ~SingleCall();
  SingleCall(const SingleCall&) = delete;
  SingleCall& operator=(const SingleCall&) = delete;

  // Why this release cannot be asked for it at all; empty: it can.
  const std::string& absent() const { return absent_; }

  // Why it is not asked for, whatever the release has: it would reach beyond tensors (contract/call_policy.hpp).
  const std::string& refused() const { return refused_; }

  // Once, with arguments of its own; `is_exact`: in fp64, on the values that the declared types hold. `inputs` becomes
  // the digest of arguments and of what the backward pass was given. Throws whatever LibTorch throws.
  MadeTensors run(bool is_exact, Digest* inputs = nullptr) const;

  // The same work again and again, on one set of arguments: what is timed.
  std::function<at::Tensor()> repeated() const;

  // The call's tensors as it lays them out, zero, on the CPU. Of an operator that can be asked for.
  std::vector<at::Tensor> blank_tensors() const;

  // What run() gives them, on the CPU; for an output whose gradients it asks for, also what it gives the backward pass.
  std::vector<at::Tensor> drawn_tensors(const at::Tensor* output = nullptr) const;

  // Once on these values, on the CPU afterwards: "output.0" without a backward pass. For a gradient, what the backward
  // pass is given stands behind the call's tensors, of the output's elements. Throws whatever LibTorch throws, and
  // RunFailure "unsupported" where the call makes no such tensor.
  at::Tensor run_on(const std::vector<at::Tensor>& tensors, const std::string& output) const;

  // Called with the first tensor argument before it is used: a planted fault.
  std::function<void(at::Tensor&)> spoil_argument = {};

 private:
  struct Operator;  // of the dispatcher
  struct Arguments;

  // `values`: what the call's tensors hold; null: drawn. Without `with_leaves` nothing is differentiated.
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
