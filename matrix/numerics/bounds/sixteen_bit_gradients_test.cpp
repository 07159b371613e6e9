// Bounds of gradients in 16 bits whose sums are stored as they grow, or made of stored statistics.
#include <cmath>
#include <cstddef>
#include <utility>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/captured_call_fixture.hpp"

namespace reprobench::sixteen_bit_gradients {
namespace {

constexpr std::int64_t kRows = 24;
constexpr std::int64_t kColumns = 32;
constexpr auto kCount = static_cast<std::size_t>(kRows * kColumns);

// A layer norm's gradients of x, weight and bias.
template <class T>
struct Norm {
  std::vector<T> input, weight, bias;
};

struct NormKernel {
  const Half* half;  // what sums over rows are stored in, null: fp32
  std::int64_t rows_of_thread = kRows;
  bool stores_projection = false;  // of a gradient on x, before the last product
  std::int64_t without_row = -1;
};

struct NormCase {
  Half half;
  Exact g, x, weight, mean, inverse;  // numbers of 16 bits

  explicit NormCase(const Half& of) : half(of) {
    for (const float value : numbers(kCount, 21)) g.push_back(of.rounded(value));
    for (const float value : numbers(kCount, 22)) x.push_back(of.rounded(value + 1));
    for (const float value : numbers(kColumns, 23)) weight.push_back(of.rounded(1 + 0.01 * value));
    for (std::size_t row = 0; row < kRows; ++row) {
      double sum = 0;
      double squares = 0;
      for (std::size_t k = 0; k < kColumns; ++k) sum += x[row * kColumns + k];
      for (std::size_t k = 0; k < kColumns; ++k) squares += std::pow(x[row * kColumns + k] - sum / kColumns, 2);
      mean.push_back(of.rounded(sum / kColumns));
      inverse.push_back(of.rounded(1 / std::sqrt(squares / kColumns)));
    }
  }
};

template <class T>
Norm<T> gradients_of(const NormCase& of, const NormKernel& kernel) {
  const auto stored = [&](T value, bool is_stored) {
    return is_stored ? static_cast<T>(kernel.half->rounded(value)) : value;
  };
  Norm<T> made{{}, std::vector<T>(kColumns), std::vector<T>(kColumns)};
  Norm<T> of_thread = made;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto first = static_cast<std::size_t>(row * kColumns);
    const T mean = static_cast<T>(of.mean[static_cast<std::size_t>(row)]);
    const T inverse = static_cast<T>(of.inverse[static_cast<std::size_t>(row)]);
    T scaled = 0;
    T moment = 0;
    for (std::size_t k = 0; k < kColumns; ++k) {
      const T g = static_cast<T>(of.g[first + k]);
      const T centred = static_cast<T>(of.x[first + k]) - mean;
      scaled += g * static_cast<T>(of.weight[k]);
      moment += g * static_cast<T>(of.weight[k]) * centred;
      if (row == kernel.without_row) continue;
      of_thread.weight[k] = stored(of_thread.weight[k] + g * centred * inverse, kernel.half != nullptr);
      of_thread.bias[k] = stored(of_thread.bias[k] + g, kernel.half != nullptr);
    }
    for (std::size_t k = 0; k < kColumns; ++k) {
      const T projection = stored((static_cast<T>(of.x[first + k]) - mean) * (moment * inverse * inverse / kColumns),
                                  kernel.stores_projection);
      made.input.push_back((static_cast<T>(of.g[first + k] * of.weight[k]) - scaled / kColumns - projection) * inverse);
    }
    if ((row + 1) % kernel.rows_of_thread != 0 && row + 1 != kRows) continue;
    for (std::size_t k = 0; k < kColumns; ++k) {
      made.weight[k] += std::exchange(of_thread.weight[k], T(0));
      made.bias[k] += std::exchange(of_thread.bias[k], T(0));
    }
  }
  return made;
}

// `is_mixed`: weight, statistics and their gradients are of fp32, whatever x is.
double norm_share(const NormCase& of, const NormKernel& kernel, std::size_t output, bool is_mixed,
                  std::int64_t threads = 1) {
  const auto exact = gradients_of<double>(of, {.half = nullptr});
  const auto made = gradients_of<float>(of, kernel);
  Capture capture("aten::native_layer_norm_backward", "[32], [true, true, true]");
  const auto add = [&](const std::string& name, const Shape& shape, const Exact& values, bool is_narrow) {
    if (is_narrow) {
      capture.halves(of.half.dtype, name, shape, values);
    } else {
      capture.single(name, shape, {values.begin(), values.end()});
    }
  };
  add("input.0", {kRows, kColumns}, of.g, true);
  add("input.1", {kRows, kColumns}, of.x, true);
  add("input.2", {kRows}, of.mean, !is_mixed);
  add("input.3", {kRows}, of.inverse, !is_mixed);
  add("input.4", {kColumns}, of.weight, !is_mixed);
  capture.exact("fp64.0", {kRows, kColumns}, exact.input);
  capture.exact("fp64.1", {kColumns}, exact.weight).exact("fp64.2", {kColumns}, exact.bias);
  add("output.0", {kRows, kColumns}, as<double>(made.input), true);
  add("output.1", {kColumns}, as<double>(made.weight), !is_mixed);
  add("output.2", {kColumns}, as<double>(made.bias), !is_mixed);
  return capture.of_bound(output, {.threads = threads});
}

TEST_CASE("a layer norm's gradients in 16 bits stay within their bounds, of sums that are stored after each row",
          "[local]") {
  const NormCase of(GENERATE(kBf16, kFp16));
  const bool is_mixed = GENERATE(false, true);
  CAPTURE(of.half.dtype, is_mixed);
  for (const std::size_t output : {0U, 1U, 2U}) {
    CAPTURE(output);
    CHECK(norm_share(of, {.half = &of.half}, output, is_mixed) < 1);
    CHECK(norm_share(of, {.half = &of.half}, output, is_mixed) > 0.1);
    CHECK(norm_share(of, {.half = &of.half, .rows_of_thread = 8}, output, is_mixed, 3) < 1);
    CHECK(norm_share(of, {.half = nullptr}, output, is_mixed, 0) < 1);  // as a GPU does
  }
}

TEST_CASE("a layer norm's gradients in 16 bits leave their bounds with a projection stored or a row left out",
          "[local]") {
  const NormCase of(GENERATE(kBf16, kFp16));
  const bool is_mixed = GENERATE(false, true);
  CAPTURE(of.half.dtype, is_mixed);
  CHECK(norm_share(of, {.half = &of.half, .stores_projection = true}, 0, is_mixed) > 1);
  for (const std::size_t output : {1U, 2U}) {
    CAPTURE(output);
    CHECK(norm_share(of, {.half = &of.half, .without_row = 11}, output, is_mixed) > 1);
    CHECK(norm_share(of, {.half = &of.half}, output, is_mixed, 0) > 1);  // of a GPU it is no rounding
  }
}

TEST_CASE("the sums of a layer norm's rows have the roundings of each thread's rows", "[local]") {
  // Four rows of g = 1 in bf16: one thread stores 1, 2, 3 and 4, two threads 1 and 2 each, more one each.
  const auto share = [](std::int64_t threads) {
    Capture capture("aten::native_layer_norm_backward", "[1], [true, true, true]");
    capture.halves("BF16", "input.0", {4, 1}, {1, 1, 1, 1}).halves("BF16", "input.1", {4, 1}, {2, 2, 2, 2});
    capture.halves("BF16", "input.2", {4}, {1, 1, 1, 1}).halves("BF16", "input.3", {4}, {1, 1, 1, 1});
    capture.halves("BF16", "input.4", {1}, {1}).exact("fp64.2", {1}, {4}).halves("BF16", "output.2", {1}, {4 + 0x1p-5});
    return capture.of_bound(2, {.threads = threads});
  };
  const double u = 0x1p-8;  // and one of the result
  CHECK(share(1) == Approx(0x1p-5 / (u * (1 + 2 + 3 + 4 + 4))).epsilon(0.03));
  CHECK(share(2) == Approx(0x1p-5 / (u * (1 + 2 + 1 + 2 + 4))).epsilon(0.03));
  CHECK(share(3) == share(2));  // rows of two
  CHECK(share(64) == Approx(0x1p-5 / (u * (4 + 4))).epsilon(0.03));
  CHECK(share(0) == Approx(0x1p-5 / (u * 4)).epsilon(0.03));
}

TEST_CASE("a batch norm's gradients in 16 bits are rounded once, of fp32 sums", "[local]") {
  // One channel of g = 1 and 3, x = 2 and 0, mean 1, 1 / sigma 2, weight 2.
  const auto share = [](std::size_t output, double exact, double made) {
    Capture capture("aten::native_batch_norm_backward", "true, 1e-05, [true, true, true]");
    capture.halves("BF16", "input.0", {2, 1}, {1, 3}).halves("BF16", "input.1", {2, 1}, {2, 0});
    capture.halves("BF16", "input.2", {1}, {2}).halves("BF16", "input.5", {1}, {1}).halves("BF16", "input.6", {1}, {2});
    const Shape shape = output == 0 ? Shape{2, 1} : Shape{1};
    const std::string place = std::to_string(output);
    const std::size_t count = output == 0 ? 2 : 1;
    capture.exact("fp64." + place, shape, Exact(count, exact));
    return capture.halves("BF16", "output." + place, shape, Exact(count, made)).of_bound(output);
  };
  for (const std::size_t output : {0U, 1U, 2U}) {
    CAPTURE(output);
    CHECK(share(output, 4 - 4 * 0x1p-8, 4) == Approx(1 / (1 - 0x1p-8)).epsilon(0.006));
  }
}

// A gradient of five tokens' rows of one number.
std::optional<LocalError> embedding_error(const Half& half, const std::vector<std::int64_t>& tokens, const Exact& g,
                                          const Exact& exact, const Exact& made, const char* constants = "5, -1, false",
                                          std::int64_t threads = 1) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  return Capture("aten::embedding_dense_backward", constants)
      .halves(half.dtype, "input.0", {count, 1}, g)
      .whole("input.1", {count}, tokens)
      .exact("fp64.0", {5, 1}, exact)
      .halves(half.dtype, "output.0", {5, 1}, made)
      .error(0, {.threads = threads});
}

TEST_CASE("a token's gradient in 16 bits is rounded as often as it is added to, and by what is there", "[local]") {
  const Half half = GENERATE(kBf16, kFp16);
  CAPTURE(half.dtype);
  const double u = half.roundoff;
  const auto share = [&](const std::vector<std::int64_t>& tokens, const Exact& g, double exact, double off) {
    return *embedding_error(half, tokens, g, {0, 0, exact, 0, 0}, {0, 0, exact + off, 0, 0})->of_bound;
  };
  CHECK(share({2}, {1}, 1, 0) == 0);
  CHECK(share({2}, {1}, 1, 2 * u) > 1e6);  // one row is as it is
  CHECK(share({2, 2}, {1, 0.5}, 1.5, 2 * u) == Approx(2 / 1.5).epsilon(1e-9));
  // 1, 1.5, 1 and 1.25: three are rounded.
  CHECK(share({2, 2, 2, 2}, {1, 0.5, -0.5, 0.25}, 1.25, 2 * u) == Approx(2 / (1.5 + 1 + 1.25)).epsilon(3 * u));
  // Other tokens' rows are none of its.
  CHECK(share({0, 2, 1, 2, 3}, {64, 1, 64, 0.5, 64}, 1.5, 2 * u) == Approx(2 / 1.5).epsilon(1e-9));
}

TEST_CASE("a token's gradient that is rounded once more at each sum, or misses a row, leaves its bound", "[local]") {
  const Half half = GENERATE(kBf16, kFp16);
  CAPTURE(half.dtype);
  std::vector<std::int64_t> tokens(40, 2);
  Exact g;
  for (const float value : numbers(40, 31)) g.push_back(half.rounded(std::abs(value)));
  double exact = 0;
  double in_order = 0;
  double cut = 0;
  double without = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    exact += g[i];
    in_order = half.rounded(in_order + g[i]);
    if (i != 20) without = half.rounded(without + g[i]);
    cut = half.rounded((cut + g[i]) * (1 - 2 * half.roundoff));  // towards zero
  }
  const auto share = [&](double made) {
    return *embedding_error(half, tokens, g, {0, 0, exact, 0, 0}, {0, 0, made, 0, 0})->of_bound;
  };
  CHECK(share(in_order) < 1);
  CHECK(share(cut) > 1);
  CHECK(share(exact * 0.5) > 1);
  CAPTURE(share(without));
  CHECK(share(without - exact * 40 * half.roundoff) > 1);
}

TEST_CASE("the padding token has no gradient, and what no row belongs to is zero", "[local]") {
  const auto share = [](const Exact& made) {
    return *embedding_error(kBf16, {1, 1, 2}, {1, 0.5, 1}, {0, 0, 1, 0, 0}, made, "5, 1, false")->of_bound;
  };
  CHECK(share({0, 0, 1, 0, 0}) == 0);
  CHECK(share({0, 0x1p-7, 1, 0, 0}) > 1e6);
  CHECK(share({0, 0, 1, 0x1p-7, 0}) > 1e6);
}

TEST_CASE("a token's gradient in 16 bits has no bound where the order of sums is not known", "[local]") {
  const auto has_bound = [](const char* constants, std::int64_t threads, std::int64_t token = 2) {
    return embedding_error(kBf16, {token}, {1}, Exact(5), Exact(5), constants, threads)->of_bound.has_value();
  };
  CHECK(has_bound("5, -1, false", 1));
  CHECK(has_bound("5, -1, false", 8));
  CHECK_FALSE(has_bound("5, -1, false", 0));  // a GPU
  CHECK_FALSE(has_bound("5, -1, true", 1));   // scaled by frequency
  CHECK_FALSE(has_bound("", 1));
  CHECK_FALSE(has_bound("5, -1, false", 1, 5));
  CHECK_FALSE(has_bound("5, -1, false", 1, -2));
}

TEST_CASE("a convolution's gradients have no bound in 16 bits, where the library that ran is not on record",
          "[local]") {
  Capture capture("aten::convolution_backward", "[1], [1, 1], [1, 1], [1, 1], false, [0, 0], 1, [true, true, true]");
  capture.halves("BF16", "input.0", {2, 1, 5, 5}, Exact(50, 1)).halves("BF16", "input.2", {1, 4, 3, 3}, Exact(36, 1));
  capture.exact("fp64.1", {1}, {4}).exact("magnitude.1", {1}, {4}).halves("BF16", "output.1", {1}, {4});
  CHECK(capture.error(1)->no_bound == "no bound is derived for aten::convolution_backward in 16 bits");
}

}  // namespace
}  // namespace reprobench::sixteen_bit_gradients
