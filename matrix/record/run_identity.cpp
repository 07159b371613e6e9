#include "matrix/record/run_identity.hpp"

#include <random>

#include <time.h>

#include "matrix/contract/number.hpp"

namespace reprobench {

std::string utc_now(const char* format) {
  const time_t now = time(nullptr);
  tm broken_down{};
  gmtime_r(&now, &broken_down);
  char text[32];
  strftime(text, sizeof text, format, &broken_down);
  return text;
}

std::string new_run_id() {
  std::random_device entropy;
  return "r-" + utc_now("%Y%m%d-%H%M%S") + "-" + hex32(entropy()).substr(0, 4);
}

}  // namespace reprobench
