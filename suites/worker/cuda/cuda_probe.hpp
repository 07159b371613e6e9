// Which GPUs this process sees, and what they are.
#pragma once

#include "matrix/contract/device_facts.hpp"

namespace reprobench {

// Of the device with this index in this process. Throws RunFailure.
DeviceFacts probe_device(int index);

}  // namespace reprobench
