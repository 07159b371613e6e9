#include "models/initial_values.hpp"

#include <bit>
#include <cmath>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("initial values never change: every stored workload digest depends on them", "[models]") {
  const auto values = initial_values(1, "fc1.weight", 4, 0.125F);
  CHECK(std::bit_cast<std::uint32_t>(values[0]) == 0xbe1fab7cu);
  CHECK(std::bit_cast<std::uint32_t>(values[3]) == 0xbd096174u);
}

TEST_CASE("initial values differ by seed, tensor and element, and not by how many are drawn", "[models]") {
  const auto values = initial_values(1, "fc1.weight", 100, 1);
  CHECK(values != initial_values(2, "fc1.weight", 100, 1));
  CHECK(values != initial_values(1, "fc2.weight", 100, 1));
  CHECK(values[0] != values[1]);
  const auto longer = initial_values(1, "fc1.weight", 1000, 1);
  CHECK(std::equal(values.begin(), values.end(), longer.begin()));
}

TEST_CASE("initial values have the asked standard deviation, and zeros where the scale is 0", "[models]") {
  double sum_of_squares = 0;
  for (const float x : initial_values(3, "w", 100'000, 0.125F)) sum_of_squares += double(x) * double(x);
  CHECK(std::sqrt(sum_of_squares / 100'000) == Approx(0.125).epsilon(0.01));
  for (const float x : initial_values(3, "b", 10, 0)) CHECK(x == 0);
}

TEST_CASE("initial values lie around the asked mean, exactly on it where the scale is 0", "[models]") {
  for (const float x : initial_values(3, "ln.weight", 10, 0, 1)) CHECK(x == 1);
  const auto centred = initial_values(3, "w", 100, 0.125F);
  const auto moved = initial_values(3, "w", 100, 0.125F, 2);
  for (std::size_t i = 0; i < 100; ++i) CHECK(moved[i] == 2 + centred[i]);
}

}  // namespace
}  // namespace reprobench
