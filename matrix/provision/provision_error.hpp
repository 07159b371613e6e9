// Why a stack could not be provisioned.
#pragma once

#include <stdexcept>

namespace reprobench {

// Provisioning failed: network, hash, space, compiler. `what()` says which and what to do; nothing half-installed is
// left.
class ProvisionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace reprobench
