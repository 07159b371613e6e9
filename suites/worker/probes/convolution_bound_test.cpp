// Winograd convolutions in fp32 by emulation, direct sums and TF32's, each beside the bound of its algorithm.
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "ci/catch.hpp"
#include "suites/worker/probes/error_bound.hpp"

namespace reprobench {
namespace {

using Matrix = std::vector<std::vector<double>>;

// F(m x m, 3 x 3): transforms of the output (m rows), the input and the filter, as in Lavin and Gray
// (arXiv:1509.09308).
struct Winograd {
  Matrix output;
  Matrix input;
  Matrix filter;
};

const Winograd kTile2 = {{{1, 1, 1, 0}, {0, 1, -1, -1}},
                         {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                         {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};

const Winograd kTile4 = {{{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
                         {{4, 0, -5, 0, 1, 0},
                          {0, -4, -4, 1, 1, 0},
                          {0, 4, -4, -1, 1, 0},
                          {0, -2, -1, 2, 1, 0},
                          {0, 2, -1, -2, 1, 0},
                          {0, 4, 0, -5, 0, 1}},
                         {{1 / 4., 0, 0},
                          {-1 / 6., -1 / 6., -1 / 6.},
                          {-1 / 6., 1 / 6., -1 / 6.},
                          {1 / 24., 1 / 12., 1 / 6.},
                          {1 / 24., -1 / 12., 1 / 6.},
                          {0, 0, 1}}};

const Winograd kTile6 = {{{1, 1, 1, 1, 1, 1, 1, 0},
                          {0, 1, -1, 2, -2, 1 / 2., -1 / 2., 0},
                          {0, 1, 1, 4, 4, 1 / 4., 1 / 4., 0},
                          {0, 1, -1, 8, -8, 1 / 8., -1 / 8., 0},
                          {0, 1, 1, 16, 16, 1 / 16., 1 / 16., 0},
                          {0, 1, -1, 32, -32, 1 / 32., -1 / 32., 1}},
                         {{1, 0, -5.25, 0, 5.25, 0, -1, 0},
                          {0, 1, 1, -4.25, -4.25, 1, 1, 0},
                          {0, -1, 1, 4.25, -4.25, -1, 1, 0},
                          {0, 0.5, 0.25, -2.5, -1.25, 2, 1, 0},
                          {0, -0.5, 0.25, 2.5, -1.25, -2, 1, 0},
                          {0, 2, 4, -2.5, -5, 0.5, 1, 0},
                          {0, -2, 4, 2.5, -5, -0.5, 1, 0},
                          {0, -1, 0, 5.25, 0, -5.25, 0, 1}},
                         {{1, 0, 0},
                          {-2 / 9., -2 / 9., -2 / 9.},
                          {-2 / 9., 2 / 9., -2 / 9.},
                          {1 / 90., 1 / 45., 2 / 45.},
                          {1 / 90., -1 / 45., 2 / 45.},
                          {32 / 45., 16 / 45., 8 / 45.},
                          {32 / 45., -16 / 45., 8 / 45.},
                          {0, 0, 1}}};

// What the comment of error_bound.hpp calls the gain.
double gain_of(const Winograd& tile) {
  const auto squares = [](const std::vector<double>& row) {
    double sum = 0;
    for (const double value : row) sum += value * value;
    return sum;
  };
  double sum = 0;
  for (const std::vector<double>& row : tile.output) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      sum += row[i] * row[i] * squares(tile.input[i]) * squares(tile.filter[i]);
    }
  }
  return sum / static_cast<double>(tile.output.size()) / 3;
}

using Values = std::vector<std::vector<float>>;  // of one channel, square

// matrix values matrix^T in fp32, every product and sum rounded.
Values transformed(const Matrix& matrix, const Values& values) {
  const auto one_side = [&](const Values& from) {  // (matrix from)^T
    Values to(from[0].size(), std::vector<float>(matrix.size()));
    for (std::size_t row = 0; row < matrix.size(); ++row) {
      for (std::size_t k = 0; k < from.size(); ++k) {
        const auto factor = static_cast<float>(matrix[row][k]);
        if (factor == 0) continue;
        for (std::size_t column = 0; column < to.size(); ++column) to[column][row] += factor * from[k][column];
      }
    }
    return to;
  };
  return one_side(one_side(values));
}

struct Distance {
  double error = 0;
  double exact = 0;

  void add(double got, double expected) {
    error += (got - expected) * (got - expected);
    exact += expected * expected;
  }
  double rel() const { return std::sqrt(error / exact); }
};

// Channels of a tile and of a filter, normal random numbers.
struct Sample {
  Sample(std::size_t channels, std::size_t side, std::mt19937& random) {
    std::normal_distribution<float> normal;
    const auto drawn = [&](std::size_t extent) {
      std::vector<Values> of_channels(channels, Values(extent, std::vector<float>(extent)));
      for (Values& values : of_channels) {
        for (auto& row : values) {
          for (float& value : row) value = normal(random);
        }
      }
      return of_channels;
    };
    inputs = drawn(side);
    filters = drawn(3);
  }
  std::vector<Values> inputs;
  std::vector<Values> filters;
};

// One element of the result as sums over all channels, in the type of `start`, the factors changed by `rounded`.
template <class Sum, class Rounded>
Sum direct(const Sample& sample, std::size_t y, std::size_t x, const Rounded& rounded, Sum sum = 0) {
  for (std::size_t channel = 0; channel < sample.inputs.size(); ++channel) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        sum += static_cast<Sum>(rounded(sample.inputs[channel][y + i][x + j])) *
               static_cast<Sum>(rounded(sample.filters[channel][i][j]));
      }
    }
  }
  return sum;
}

constexpr auto kAsItIs = [](float value) { return value; };
constexpr auto kToTf32 = [](float value) {
  const float shift = value * 0x1.002p+13f;  // Dekker's splitting keeps 24 - 13 bits
  return shift - (shift - value);
};

Values winograd(const Winograd& tile, const Sample& sample) {
  const std::size_t side = tile.input.size();
  Values sums(side, std::vector<float>(side));
  for (std::size_t channel = 0; channel < sample.inputs.size(); ++channel) {
    const Values input = transformed(tile.input, sample.inputs[channel]);
    const Values filter = transformed(tile.filter, sample.filters[channel]);
    for (std::size_t i = 0; i < side; ++i) {
      for (std::size_t j = 0; j < side; ++j) sums[i][j] += input[i][j] * filter[i][j];
    }
  }
  return transformed(tile.output, sums);
}

// Relative L2 distance to fp64 over as many tiles as are worth some 5000 elements.
double winograd_error_rel(const Winograd& tile, std::size_t channels) {
  std::mt19937 random(7);
  Distance distance;
  const std::size_t outputs = tile.output.size();
  for (std::size_t i = 0; i < 5000 / (outputs * outputs); ++i) {
    const Sample sample(channels, tile.input.size(), random);
    const Values result = winograd(tile, sample);
    for (std::size_t y = 0; y < outputs; ++y) {
      for (std::size_t x = 0; x < outputs; ++x) distance.add(result[y][x], direct<double>(sample, y, x, kAsItIs));
    }
  }
  return distance.rel();
}

template <class Sum, class Rounded>
double direct_error_rel(std::size_t channels, const Rounded& rounded) {
  std::mt19937 random(7);
  Distance distance;
  for (int i = 0; i < 2000; ++i) {
    const Sample sample(channels, 3, random);
    distance.add(direct<Sum>(sample, 0, 0, rounded), direct<double>(sample, 0, 0, kAsItIs));
  }
  return distance.rel();
}

double bound_of(const char* algorithm, std::size_t channels) {
  return convolution_error_bound_rel("fp32", static_cast<std::int64_t>(channels), algorithm);
}

TEST_CASE("the gains of Winograd's tiles follow from their transforms", "[probe]") {
  CHECK(gain_of(kTile2) == Approx(1.67).epsilon(0.01));
  CHECK(gain_of(kTile4) == Approx(10.8).epsilon(0.01));
  CHECK(gain_of(kTile6) == Approx(20.6).epsilon(0.01));
  // The bound of many channels is the gain's, but for the transforms.
  CHECK(bound_of("winograd", 1 << 20) == Approx(gain_of(kTile4) * 1024 * 0x1p-24).epsilon(0.01));
  CHECK(bound_of("", 1 << 20) == Approx(gain_of(kTile6) * 1024 * 0x1p-24).epsilon(0.01));
}

TEST_CASE("a right Winograd F(4x4, 3x3) at 256 channels is beyond the bound of direct sums and within its own",
          "[probe]") {
  const double error_rel = winograd_error_rel(kTile4, 256);
  CHECK(error_rel > bound_of("implicit_gemm", 256));
  CHECK(error_rel < bound_of("winograd", 256));
}

TEST_CASE("Winograd convolutions of any depth keep their bound and come near it", "[probe]") {
  for (const std::size_t channels : {1, 4, 16, 64, 256}) {
    CAPTURE(channels);
    CHECK(winograd_error_rel(kTile2, channels) < bound_of("winograd", channels));
    CHECK(winograd_error_rel(kTile4, channels) < bound_of("winograd", channels));
    CHECK(winograd_error_rel(kTile4, channels) > bound_of("winograd", channels) / 6);
    CHECK(winograd_error_rel(kTile6, channels) < bound_of("nnpack", channels));
    CHECK(winograd_error_rel(kTile6, channels) > bound_of("nnpack", channels) / 6);
  }
}

TEST_CASE("direct sums keep their bound, and an unknown algorithm has the widest", "[probe]") {
  for (const std::size_t channels : {16, 256}) {
    CHECK(direct_error_rel<float>(channels, kAsItIs) < bound_of("direct", channels));
    CHECK(bound_of("direct", channels) == product_error_bound_rel("fp32", static_cast<std::int64_t>(channels) * 9));
    CHECK(bound_of("direct", channels) < bound_of("winograd", channels));
    CHECK(bound_of("winograd", channels) < bound_of("", channels));
    CHECK(bound_of("fft", channels) == bound_of("", channels));
  }
  for (const char* dtype : {"tf32", "bf16", "fp16"}) {
    CHECK(convolution_error_bound_rel(dtype, 256, "") == product_error_bound_rel(dtype, 2304));
  }
}

TEST_CASE("TF32 where fp32 was asked for is beyond the bound of every algorithm", "[probe]") {
  for (const std::size_t channels : {16, 256}) {
    const double error_rel = direct_error_rel<double>(channels, kToTf32);
    CHECK(error_rel == Approx(2.9e-4).epsilon(0.1));
    for (const char* algorithm : {"implicit_gemm", "winograd", "fft", ""}) {
      CHECK(error_rel > 10 * bound_of(algorithm, channels));
    }
  }
}

}  // namespace
}  // namespace reprobench
