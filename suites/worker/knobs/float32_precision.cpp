#include "suites/worker/knobs/float32_precision.hpp"

#include <type_traits>

#include <ATen/Context.h>

namespace reprobench {
namespace {

// The types are deduced from the member, so that names a release lacks are never spelt out.
template <class Context, class Backend, class Operation, class Precision>
void set_precisions(Context& context, void (Context::*set)(Backend, Operation, Precision), bool on) {
  if constexpr (std::is_enum_v<Backend>) {
    for (const Operation operation : {Operation::MATMUL, Operation::CONV, Operation::RNN}) {
      (context.*set)(Backend::CUDA, operation, on ? Precision::TF32 : Precision::IEEE);
    }
  } else {
    for (const char* operation : {"matmul", "conv", "rnn"}) (context.*set)("cuda", operation, on ? "tf32" : "ieee");
  }
}

template <class Context, class Backend, class Operation, class Precision>
std::string precision_word(Context& context, Precision (Context::*get)(Backend, Operation) const,
                           const std::string& operation) {
  if constexpr (std::is_enum_v<Backend>) {
    const Precision value = (context.*get)(Backend::CUDA, operation == "conv" ? Operation::CONV : Operation::MATMUL);
    if (value == Precision::TF32) return "tf32";
    return value == Precision::IEEE ? "ieee" : "none";
  } else {
    return (context.*get)("cuda", operation);
  }
}

// The old switches first: the new ones leave them alone, and the old ones turn a new "ieee" into "none".
template <class Context>
void set_tf32_in(Context& context, bool on) {
  if constexpr (requires { context.setAllowTF32CuBLAS(on); }) context.setAllowTF32CuBLAS(on);
  if constexpr (requires { context.setAllowTF32CuDNN(on); }) context.setAllowTF32CuDNN(on);
  if constexpr (requires { &Context::setFloat32Precision; }) {
    set_precisions(context, &Context::setFloat32Precision, on);
  }
}

template <class Context>
std::string precision_in(Context& context, const std::string& operation) {
  if constexpr (requires { &Context::float32Precision; }) {
    return precision_word(context, &Context::float32Precision, operation);
  } else {
    return (operation == "conv" ? context.allowTF32CuDNN() : context.allowTF32CuBLAS()) ? "tf32" : "ieee";
  }
}

}  // namespace

void set_tf32(bool on) { set_tf32_in(at::globalContext(), on); }

std::string float32_precision(const std::string& operation) { return precision_in(at::globalContext(), operation); }

}  // namespace reprobench
