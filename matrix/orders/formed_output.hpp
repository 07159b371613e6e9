// An output of a call whose bits follow from its operands, once it is known which form of a list a library has: in how
// many lanes it adds, what it fuses, and how it computes an exponential. Softmax and norms are such. Forms are tried,
// since divisions and exponentials stand between the additions, so that no tree shows them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/declared_call.hpp"

namespace reprobench {

class FormedOutput {
 public:
  // The elements of the call's tensors, row-major, by their places in the call. Behind them stands the gradient that
  // the backward pass is given, then what given_outputs() names, and what add_hidden() adds.
  using Tensors = std::vector<std::vector<float>>;
  struct Value {
    std::int64_t element = 0;  // of the output, row-major
    float value = 0;
  };

  virtual ~FormedOutput() = default;

  virtual std::int64_t elements() const = 0;
  virtual std::int64_t terms() const = 0;  // of one sum
  // Rows or channels. Each is computed by itself, from so many elements of an operand.
  virtual std::int64_t units() const = 0;

  // In the same order on every stack, so that two stacks that agree get one name.
  virtual std::size_t forms() const = 0;
  virtual std::string text(std::size_t form) const = 0;   // canonical: equal texts give equal bits
  virtual std::string shape(std::size_t form) const = 0;  // for people

  // Another output of the same call with which this one's forms begin: a mean, before the variance around it. Its form
  // is found first, so that not each of its forms is tried with each of this one's.
  struct Basis {
    std::string name;
    std::shared_ptr<const FormedOutput> output;
  };
  virtual const Basis* basis() const { return nullptr; }
  virtual std::vector<std::size_t> forms_on(std::size_t /*form_of_basis*/) const { return {}; }

  // Outputs of the same call that a gradient takes as the call made them: "output.1". They are in the chain of bases.
  virtual std::vector<std::string> given_outputs() const { return {}; }

  // Adds what the call computes on its way and no output shows, as the form's basis makes it. Forms that have the same
  // basis share it.
  virtual void add_hidden(std::size_t /*form*/, Tensors& /*tensors*/) const {}

  // The elements that belong to one unit.
  virtual void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const = 0;

  // Turns numbers around 0 into one kind of input, which changes with `round`. On some nothing is left of a sum but the
  // errors of rounding, and elements show the sum alone.
  virtual void make_kind(std::int64_t round, Tensors& tensors) const = 0;
};

// Nothing if the call is none of these, or not made in a known way; then `why_not` says so.
std::shared_ptr<const FormedOutput> formed_output(const DeclaredCall& call, std::string_view output,
                                                  std::string& why_not);

// Whether the text is one that some such output can have.
bool is_form(std::string_view text);

}  // namespace reprobench
