// Values that the rules of a matrix name and no cell has.
//
//   axes: {stack: [torch-2.9.0-cu128, torch-2.8.0-cu128]}
//   required: [{stack: [torch-2.9.0-cu128, torch-2.1.0-cu128]}]        # the second is no stack of this matrix
//   thresholds: {memory.peak_anonymous: {gate: record_only, where: "stack != torch-2.9.0-cu129"}}
// Each rule selects some cell, so nothing else would say that it does something else than its author believes: the
// second one disarms the candidate.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/matrix_spec.hpp"

namespace reprobench {

class NamedValues {
 public:
  explicit NamedValues(const MatrixSpec& matrix);

  // Of every cell, also of one that `exclude` takes away.
  void see(const CoordinateLookup& cell);

  // RB024 for each value that no cell had, at the first rule that names it.
  void report(Diagnostics& diagnostics) const;

 private:
  struct Coordinate {
    std::map<std::string, Mark, std::less<>> unseen;  // by value: the first rule that names it
    std::set<std::string, std::less<>> seen;
  };
  void add(const Selector& where, const Mark& mark);

  std::map<std::string, Coordinate> coordinates_;
};

// Stacks that `required` names, and suites without a cell of them: {stack: new}, and `exclude` left suite memory no
// cell of new. RB024 unless that rule names suites, and not this one.
class RequiredStacks {
 public:
  explicit RequiredStacks(const MatrixSpec& matrix);

  // Of every cell that `exclude` leaves.
  void see(const CoordinateLookup& cell);

  void report(Diagnostics& diagnostics) const;

 private:
  std::map<std::pair<std::string, std::string>, Mark> unseen_;  // by stack and suite
};

}  // namespace reprobench
