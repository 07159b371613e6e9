#include <time.h>

#include "matrix/exec/executor.hpp"

namespace reprobench {

std::chrono::nanoseconds MonotonicClock::now() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace reprobench
