// A request that cannot be carried out as it was made: nothing is launched, exit code 2.
#pragma once

#include <stdexcept>

namespace reprobench {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace reprobench
