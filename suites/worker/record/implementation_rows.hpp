// What computed the operations of a step, from what the libraries said while each ran, as rows of a result.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "matrix/contract/step_implementations.hpp"
#include "suites/worker/record/library_text.hpp"

namespace reprobench {

// An operator that did its work itself, and what the libraries said meanwhile.
struct SeenOperation {
  std::string operation;
  std::string operands;
  std::string dtype;
  LibraryText said;
};

// Fills in `implementation` or `unknown`. An operator during which no library spoke ran LibTorch's own kernel, unless a
// library may have done it silently. `capability`: what LibTorch dispatches to; `unheard`: HeardLibraries'.
OperationImplementation implementation_of(const SeenOperation& seen, const std::string& capability,
                                          const std::string& unheard);

class ImplementationRows {
 public:
  void add(OperationImplementation row);

  // At most kMostImplementations rows, sorted; of LibTorch's own kernels as many as there is room for.
  StepImplementations take() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, OperationImplementation> rows_;
};

}  // namespace reprobench
