// Ends the search for an order of summation, from wherever in it the reason is noticed.
//
// Its time is that of the CPU, so that a busy host does not leave unknown what an idle one proves. A search that waits
// for a device, or gets next to nothing of the CPU, ends after five times as long.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <string>

namespace reprobench {

struct OrderNotKnown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class OrderTime {
 public:
  explicit OrderTime(double limit_s) : limit_s_(limit_s) {}

  std::chrono::nanoseconds taken() const { return std::chrono::steady_clock::now() - began_; }

  // Throws OrderNotKnown after the limit.
  void check() const {
    constexpr double kMostOfWaiting = 5;
    const double waited_s = std::chrono::duration<double>(taken()).count();
    if (thread_s() - began_thread_s_ <= limit_s_ && waited_s <= kMostOfWaiting * limit_s_) return;
    throw OrderNotKnown("it takes longer than " + std::to_string(std::llround(limit_s_)) + " s");
  }

 private:
  static double thread_s() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  double began_thread_s_ = thread_s();
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double limit_s_;
};

}  // namespace reprobench
