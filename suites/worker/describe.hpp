// The reply of `reprobench-worker describe`.
#pragma once

#include "matrix/contract/capability.hpp"

namespace reprobench {

Capability describe_worker();

}  // namespace reprobench
