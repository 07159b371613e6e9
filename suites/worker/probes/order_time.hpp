// Ends the search for an order of summation, from wherever in it the reason is noticed.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
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
    if (std::chrono::duration<double>(taken()).count() <= limit_s_) return;
    throw OrderNotKnown("it takes longer than " + std::to_string(std::llround(limit_s_)) + " s");
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double limit_s_;
};

}  // namespace reprobench
