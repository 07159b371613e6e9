#include "kernels/sketch/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ci/catch.hpp"
#include "kernels/philox/philox.hpp"
#include "kernels/sketch/sketch_kernels.hpp"

namespace reprobench {
namespace {

std::vector<float> bells(std::size_t count, std::uint32_t key) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = bell(philox4x32_10({{uint32_t(i), 0, 0, 0}}, {{key, 0}}));
  return values;
}

TEST_CASE("a sketch holds count, range, sum and norm of small tensors exactly", "[sketch]") {
  const std::vector<float> values{3, -4, 0, 12};
  const Sketch s = sketch(values);
  CHECK(s.count == 4);
  CHECK(s.min == -4);
  CHECK(s.max == 12);
  CHECK(s.sum == 11);
  CHECK(s.l2 == 13);
}

TEST_CASE("NaN and infinity are counted and spoil nothing else", "[sketch]") {
  const float inf = std::numeric_limits<float>::infinity();
  const Sketch s = sketch(std::vector<float>{1, std::nanf(""), inf, -inf, 2});
  CHECK(s.nan_count == 1);
  CHECK(s.inf_count == 2);
  CHECK(s.sum == 3);
  CHECK(s.min == 1);
  CHECK(s.max == 2);
  const Sketch none = sketch(std::vector<float>{inf});
  CHECK(std::isnan(none.min));
  CHECK(std::isnan(none.max));
}

TEST_CASE("the distance of two tensors is estimated from their sketches without bias", "[sketch]") {
  double mean = 0;
  constexpr int kTrials = 100;
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    const auto a = bells(5000, 2 * trial);
    auto b = a;
    const auto noise = bells(5000, 2 * trial + 1);
    double distance = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      b[i] += 1e-3f * noise[i];
      distance += std::pow(double(b[i]) - double(a[i]), 2);
    }
    const double ratio = estimated_distance(sketch(a), sketch(b)) / std::sqrt(distance);
    CHECK(std::abs(ratio - 1) < 0.45);  // five standard deviations of 1/sqrt(2 * 64)
    mean += ratio / kTrials;
  }
  CHECK(std::abs(mean - 1) < 0.04);  // standard error 0.009, bias of a root of about -1/256
}

TEST_CASE("equal and opposite changes of two elements of one stride do not always cancel", "[sketch]") {
  const std::vector<float> zeros(64 * 64);
  int seen = 0;
  for (std::size_t row = 1; row < 64; ++row) {
    auto changed = zeros;
    changed[0] = 1;
    changed[row * 64] = -1;
    if (estimated_distance(sketch(zeros), sketch(changed)) > 0) ++seen;
  }
  // Each is missed with probability 1/2; at least 16 of 63 seen fails by chance with probability below 1e-4.
  CHECK(seen >= 16);
}

TEST_CASE("the sketch of a tensor is the same in every element type that holds it exactly", "[sketch]") {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<Bfloat16> halves;
  std::vector<std::int64_t> integers;
  for (int i = 0; i < 200; ++i) {
    floats.push_back(float(i - 100));
    doubles.push_back(i - 100);
    integers.push_back(i - 100);
    halves.push_back({static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(float(i - 100)) >> 16)});
  }
  const Sketch expected = sketch(floats);
  for (const Sketch& s : {sketch(doubles), sketch(halves), sketch(integers)}) {
    CHECK(s.sum == expected.sum);
    CHECK(s.l2 == expected.l2);
    CHECK(s.signed_sums == expected.signed_sums);
  }
}

TEST_CASE("the sketch of ones at positions is that of the whole tensor of zeros and ones", "[sketch]") {
  std::vector<std::int64_t> whole(1000);
  const std::vector<std::int64_t> positions{0, 1, 63, 64, 500, 999};
  for (const std::int64_t position : positions) whole[static_cast<std::size_t>(position)] = 1;
  const Sketch expected = sketch(whole);
  const Sketch s = sketch_of_ones(1000, positions);
  CHECK(s.count == expected.count);
  CHECK(s.min == expected.min);
  CHECK(s.max == expected.max);
  CHECK(s.sum == expected.sum);
  CHECK(s.l2 == expected.l2);
  CHECK(s.signed_sums == expected.signed_sums);
}

// The order of sketch_kernels.hpp, written for reading: segments, in them columns, in those rows.
TEST_CASE("a sketch adds up in the order that it documents, bit for bit", "[sketch]") {
  for (const std::size_t count : {1u, 100u, 16'384u, 16'385u, 50'000u}) {
    const auto values = bells(count, 21);
    double sum = 0;
    double squares = 0;
    std::vector<double> signed_sums(64);
    for (std::size_t segment = 0; segment < count; segment += 16'384) {
      std::vector<double> column_sums(64);
      std::vector<double> column_squares(64);
      std::vector<double> column_signed(64);
      for (std::size_t i = segment; i < std::min<std::size_t>(segment + 16'384, count); ++i) {
        const double x = double(values[i]);
        const bool plus = (sketch_signs(i / 64) >> i % 64 & 1) != 0;
        column_sums[i % 64] += x;
        column_squares[i % 64] += x * x;
        column_signed[i % 64] += plus ? x : -x;
      }
      for (std::size_t step = 1; step < 64; step *= 2) {
        for (std::size_t j = 0; j < 64; j += 2 * step) {
          column_sums[j] += column_sums[j + step];
          column_squares[j] += column_squares[j + step];
        }
      }
      sum += column_sums[0];
      squares += column_squares[0];
      for (std::size_t j = 0; j < 64; ++j) signed_sums[j] += column_signed[j];
    }
    const Sketch s = sketch(values);
    CHECK(s.sum == sum);
    CHECK(s.l2 == std::sqrt(squares));
    CHECK(std::equal(signed_sums.begin(), signed_sums.end(), s.signed_sums.begin()));
  }
}

TEST_CASE("one flipped element of a mask is counted as one", "[sketch]") {
  const Sketch a = sketch_of_ones(4096, std::vector<std::int64_t>{5, 77, 4000});
  CHECK(estimated_distance(a, sketch_of_ones(4096, std::vector<std::int64_t>{5, 4000})) == 1);
  CHECK(estimated_distance(a, sketch_of_ones(4096, std::vector<std::int64_t>{5, 77, 78, 4000})) == 1);
}

}  // namespace
}  // namespace reprobench
