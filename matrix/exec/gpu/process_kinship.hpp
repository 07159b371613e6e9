// Tells whose process a pid is, as seen from this runner.
#pragma once

#include <cstdint>

namespace reprobench {

enum class Kinship {
  own,      // this process or a descendant of it
  foreign,  // somebody else's
  hidden,   // not in /proc: in another PID namespace, or it has just ended
};

Kinship kinship_of(std::int64_t pid);

}  // namespace reprobench
