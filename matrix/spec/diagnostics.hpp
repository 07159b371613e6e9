// Collects all errors of an input, so that a user sees all of them at once.
//
// Readers report here and go on. The owner of the input calls throw_if_any() when it has been read to the end.
#pragma once

#include <string>
#include <vector>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

class Diagnostics {
 public:
  void error(const Mark& mark, std::string code, std::string what, std::string hint = "");
  void add(const SpecError& error);

  std::size_t size() const { return found_.size(); }
  bool empty() const { return found_.empty(); }

  // Throws SpecError with all of them.
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> found_;
};

// Throws one error at once, for an input that cannot be read any further.
[[noreturn]] void throw_spec_error(const Mark& mark, std::string code, std::string what, std::string hint = "");

}  // namespace reprobench
