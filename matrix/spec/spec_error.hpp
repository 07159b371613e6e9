// An error in an input file, where it is, and what to do about it. All errors of a file are reported at once.
//
//   matrix/v2.9.yaml:9:5: error[RB009]: unknown key `timout`; did you mean `timeout`?
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace reprobench {

// A place in an input file; line and column count from 1. Line 0 is the file as a whole.
struct Mark {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const Mark&) const = default;
};

std::string to_string(const Mark& mark);  // "matrix/v2.9.yaml:9:5"
Mark mark_from(const std::string& text);  // the inverse; any other text is a file

struct Diagnostic {
  Mark mark;
  std::string code;  // "RB009"; the catalogue is in spec/README.md
  std::string what;
  std::string hint;  // may be empty
};

std::string to_string(const Diagnostic& diagnostic);

// Ends the command with exit code 2 before anything was launched. `what()` has all diagnostics, one in each line, at
// most 20.
class SpecError : public std::runtime_error {
 public:
  explicit SpecError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace reprobench
