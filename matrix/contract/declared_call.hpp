// One operator call as people write it, in lists of calls (spec/files/call_list.hpp) and in a request:
//
//   native_layer_norm(f32[256, 768], [768], f32[768], f32[768], 1e-5)
//   nll_loss(f32[256, 50], i64[256] below 50)    mean.dim(bf16[8, 64] strides [1, 8], [1], true)
//   gelu(f32[256, 3072], approximate='tanh')     native_batch_norm(..., f32[64] constant positive, true, 0.1)
//
// A tensor is its dtype and shape. After it may stand `strides [...]`, `constant` (no gradient is asked for),
// `positive` or, for whole numbers, `below N`. Its values are drawn by Philox from the call's text and the argument's
// place, so equal texts are equal calls on every stack. With `from 'NAME'` they are those of a tensor in the workload's
// safetensors file. An argument after `name=` goes to the operator's argument of that name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace reprobench {

struct DeclaredTensor {
  std::string dtype;  // one of declared_dtypes()
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // empty: dense and row-major
  bool is_constant = false;
  bool is_positive = false;
  std::int64_t below = 0;  // for whole numbers: they are drawn from 0 to below - 1
  std::string from = {};   // name of the file's tensor that has its values; empty: they are drawn

  bool is_floating() const { return dtype != "i64" && dtype != "bool"; }
  std::int64_t elements() const;
  std::int64_t storage_elements() const;  // the elements that its strides reach
};

struct NoValue {};  // `none`

using DeclaredTensors = std::vector<DeclaredTensor>;  // in braces
using DeclaredIntegers = std::vector<std::int64_t>;   // in brackets
using DeclaredFlags = std::vector<bool>;

struct DeclaredArgument {
  std::string name;  // empty: by place
  std::variant<NoValue, bool, std::int64_t, double, std::string, DeclaredIntegers, DeclaredFlags, DeclaredTensor,
               DeclaredTensors>
      value;
};

struct DeclaredCall {
  std::string text;      // as canonical_call() returns it
  std::string name;      // "native_layer_norm"; with its library if that is not ATen: "prims::mul"
  std::string overload;  // "dim"; often empty
  std::vector<DeclaredArgument> arguments;

  std::vector<DeclaredTensor> tensors() const;  // the tensors of all arguments, in order
};

// "f64", "f32", "f16", "bf16", "i64", "bool"
const std::vector<std::string>& declared_dtypes();
std::int64_t dtype_bytes(const std::string& dtype);

// The name in a safetensors file: "F32".
std::string_view safetensors_name(const std::string& dtype);

// Throws a ContractError that says what is wrong and after which text.
DeclaredCall parse_call(const std::string& text);

// `text` with normal spacing, in which every word that `values` names is replaced.
std::string canonical_call(const std::string& text, const std::map<std::string, std::string>& values = {});

}  // namespace reprobench
