// The library code that computed the operations of a training's step. Each operation on tensors of given shapes and
// types has one row, with its implementation or the reason why that is not known. They are seen in a forward and a
// backward pass of their own after the last step, so that nothing that was timed or digested was watched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

struct OperationImplementation {
  std::string operation;  // LibTorch's name, "aten::addmm"
  std::string operands;   // shapes of its tensors in their order, "(512), (32,784), (784,512)"
  std::string dtype;      // "float32"; if its tensors have several types, each once, in their order
  // The libraries' calls, each once: "onednn matmul brg_matmul:avx512_core_bf16", "mkl SGEMM". For LibTorch's own
  // kernels, the instructions that it dispatches to: "aten AVX512". If it is empty, `unknown` says why.
  std::string implementation;
  std::string unknown = {};
  std::int64_t calls = 1;

  friend bool operator==(const OperationImplementation&, const OperationImplementation&) = default;
};

inline constexpr std::size_t kMostImplementations = 300;
inline constexpr std::size_t kLongestImplementationText = 500;

struct StepImplementations {
  std::vector<OperationImplementation> operations;  // sorted by operation, operands and type, then by implementation
  std::int64_t left_out = 0;                        // number of further rows; those of LibTorch's own kernels go first
  std::string unknown = {};                         // why nothing is known of any operation
};

template <>
struct Description<OperationImplementation> {
  static constexpr About about = About::part("implementation", "Which library code computed an operation.");
  static void fields(auto& field, OperationImplementation& row) {
    field("operation", row.operation, rule::not_empty);
    field("operands", row.operands, "Shapes of its tensors.");
    field("dtype", row.dtype);
    field("implementation", row.implementation, "The calls of libraries, or LibTorch's own kernels; empty: not known.");
    field.optional("unknown", row.unknown, "Why `implementation` is empty.");
    field("calls", row.calls, rule::at_least(1));
    field.hold(row.implementation.empty() != row.unknown.empty(),
               "needs either an `implementation` or why it is `unknown`");
  }
};

template <>
struct Description<StepImplementations> {
  static constexpr About about =
      About::part("step_implementations", "Which library code computed a training's step, seen after the last one.");
  static void fields(auto& field, StepImplementations& step) {
    field("operations", step.operations);
    field.optional("left_out", step.left_out, rule::at_least(1).says("So many more rows there were."));
    field.optional("unknown", step.unknown, "Why nothing is known of any operation.");
    field.hold(step.operations.empty() != step.unknown.empty(), "needs either `operations` or why they are `unknown`");
  }
};

}  // namespace reprobench
