#include "matrix/record/run_identity.hpp"

#include <random>

#include <fmt/format.h>
#include <time.h>

#include "matrix/base/number.hpp"

namespace reprobench {

namespace {

timespec now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

std::string in_utc(const timespec& time, const char* format) {
  tm broken_down{};
  gmtime_r(&time.tv_sec, &broken_down);
  char text[32];
  strftime(text, sizeof text, format, &broken_down);
  return text;
}

}  // namespace

std::string utc_now(const char* format) { return in_utc(now(), format); }

std::string new_run_id() {
  std::random_device entropy;
  const timespec time = now();
  return fmt::format("r-{}-{:03}-{}", in_utc(time, "%Y%m%d-%H%M%S"), time.tv_nsec / 1'000'000,
                     hex32(entropy()).substr(0, 4));
}

}  // namespace reprobench
