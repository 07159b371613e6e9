// The library code that computed the operations of a step, as rows of a result. It is told from the libraries' verbose
// output while each operation ran.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "matrix/contract/step_implementations.hpp"
#include "suites/worker/record/library_text.hpp"

namespace reprobench {

// An operator that did its work itself, and the verbose output of the libraries meanwhile.
struct SeenOperation {
  std::string operation;
  std::string operands;
  std::string dtype;
  LibraryText said;
};

// Fills in `implementation` or `unknown`. An operator during which no library spoke ran LibTorch's own kernel, unless a
// library may have done it silently. `capability` is the one that LibTorch dispatches to; `unheard` is HeardLibraries'.
OperationImplementation implementation_of(const SeenOperation& seen, const std::string& capability,
                                          const std::string& unheard);

class ImplementationRows {
 public:
  void add(OperationImplementation row);

  // At most kMostImplementations rows, sorted; LibTorch's own kernels get the room that the others leave.
  StepImplementations take() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, OperationImplementation> rows_;
};

}  // namespace reprobench
