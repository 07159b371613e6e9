// Thrown by a reader of a file or document that breaks its format. `what()` is one sentence that names the field.
#pragma once

#include <stdexcept>

namespace reprobench {

class ContractError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace reprobench
