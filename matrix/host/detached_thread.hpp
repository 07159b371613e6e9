// A thread nobody waits for: calls into the driver's library may never come back, and then the run must still end. What
// runs on it owns all it touches.
#pragma once

#include <functional>

namespace reprobench {

// Signals stay with the threads that are there already.
void start_detached(std::function<void()> work);

}  // namespace reprobench
