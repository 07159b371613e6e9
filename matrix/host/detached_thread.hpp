// A thread that nobody waits for. Calls into the driver's library may never return, and then the run must still end.
// The work owns everything it touches.
#pragma once

#include <functional>

namespace reprobench {

// Signals stay with the threads that existed before.
void start_detached(std::function<void()> work);

}  // namespace reprobench
