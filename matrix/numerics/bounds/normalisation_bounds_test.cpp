#include <cmath>
#include <functional>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/captured_call_fixture.hpp"

// The gradients of normalisations, as backward_bounds_test.cpp has the others.
namespace reprobench {
namespace {

// A normalisation of groups, in fp32 or fp64. Member `i` of group `j` is at `at(j, i)`, its weight at `weight_at(j,
// i)`.
struct Groups {
  std::size_t count;
  std::size_t size;
  std::function<std::size_t(std::size_t, std::size_t)> at;
  std::function<std::size_t(std::size_t, std::size_t)> weight_at;
};

template <class T>
struct NormGradients {
  std::vector<T> input, weight, bias;
};

enum class Moments { about_zero, about_mean };

// `defect` is a factor of what the variance gives back, 1 but for a defect.
template <class T>
NormGradients<T> norm_gradients(const Groups& groups, const std::vector<T>& g, const std::vector<T>& x,
                                const std::vector<T>& mean, const std::vector<T>& inverse, const std::vector<T>& weight,
                                Moments moments, T defect) {
  NormGradients<T> result{std::vector<T>(x.size()), std::vector<T>(weight.size()), std::vector<T>(weight.size())};
  const T n = static_cast<T>(groups.size);
  for (std::size_t j = 0; j < groups.count; ++j) {
    T sum = 0;
    T moment = 0;
    for (std::size_t k = 0; k < groups.size; ++k) {
      const std::size_t i = groups.at(j, k);
      const T scaled = g[i] * weight[groups.weight_at(j, k)];
      sum += scaled;
      moment += moments == Moments::about_zero ? scaled * x[i] : scaled * (x[i] - mean[j]);
      result.weight[groups.weight_at(j, k)] += g[i] * (x[i] - mean[j]) * inverse[j] * defect;
      result.bias[groups.weight_at(j, k)] += g[i] * defect;
    }
    for (std::size_t k = 0; k < groups.size; ++k) {
      const std::size_t i = groups.at(j, k);
      const T scaled = g[i] * weight[groups.weight_at(j, k)];
      if (moments == Moments::about_zero) {
        const T b = (sum * mean[j] - moment) * inverse[j] * inverse[j] * inverse[j] / n * defect;
        result.input[i] = inverse[j] * scaled + b * x[i] + (-b * mean[j] - sum * inverse[j] / n);
      } else {
        const T factor = moment * inverse[j] * inverse[j] / n * defect;
        result.input[i] = (scaled - (x[i] - mean[j]) * factor - sum / n) * inverse[j];
      }
    }
  }
  return result;
}

struct NormCase {
  const char* name;
  const char* constants;
  Shape shape;
  Shape weight_shape;
  Groups groups;
  std::size_t first_statistic;  // place of the mean among the inputs
  std::size_t weight_place;
};

NormCase layer_norm_case() {
  const auto at = [](std::size_t row, std::size_t i) { return row * 64 + i; };
  return {"aten::native_layer_norm_backward",
          "[64], [true, true, true]",
          {64, 64},
          {64},
          {64, 64, at, [](std::size_t, std::size_t i) { return i; }},
          2,
          4};
}

// (N, C, L) = (8, 16, 32): a channel's numbers lie apart.
NormCase batch_norm_case() {
  const auto at = [](std::size_t channel, std::size_t i) { return (i / 32 * 16 + channel) * 32 + i % 32; };
  return {"aten::native_batch_norm_backward",
          "true, 1e-05 (0x3ee4f8b588e368f1), [true, true, true]",
          {8, 16, 32},
          {16},
          {16, 256, at, [](std::size_t channel, std::size_t) { return channel; }},
          5,
          2};
}

double norm_share(const NormCase& norm, Moments moments, float defect, std::size_t output,
                  const char* constants = nullptr) {
  const Singles g = numbers(4096, 11);
  Singles x = numbers(4096, 12);
  for (float& value : x) value += 2;
  Singles weight = numbers(norm.groups.count * norm.groups.size == 4096 && norm.weight_shape[0] == 64 ? 64 : 16, 13);
  for (float& value : weight) value = 1 + 0.01F * value;
  Singles mean;
  Singles inverse;
  for (std::size_t j = 0; j < norm.groups.count; ++j) {
    double sum = 0;
    double squares = 0;
    for (std::size_t k = 0; k < norm.groups.size; ++k) sum += x[norm.groups.at(j, k)];
    const double exact_mean = sum / static_cast<double>(norm.groups.size);
    for (std::size_t k = 0; k < norm.groups.size; ++k) squares += std::pow(x[norm.groups.at(j, k)] - exact_mean, 2);
    mean.push_back(static_cast<float>(exact_mean));
    inverse.push_back(static_cast<float>(1 / std::sqrt(squares / static_cast<double>(norm.groups.size) + 1e-5)));
  }
  const auto exact = norm_gradients(norm.groups, as<double>(g), as<double>(x), as<double>(mean), as<double>(inverse),
                                    as<double>(weight), Moments::about_mean, 1.0);
  const auto made = norm_gradients(norm.groups, g, x, mean, inverse, weight, moments, defect);
  const auto statistics = static_cast<std::int64_t>(norm.groups.count);
  const auto place = [](const char* kind, std::size_t i) { return kind + std::to_string(i); };
  Capture capture(norm.name, constants == nullptr ? norm.constants : constants);
  capture.single("input.0", norm.shape, g).single("input.1", norm.shape, x);
  capture.single(place("input.", norm.weight_place), norm.weight_shape, weight);
  capture.single(place("input.", norm.first_statistic), {statistics}, mean);
  capture.single(place("input.", norm.first_statistic + 1), {statistics}, inverse);
  capture.exact("fp64.0", norm.shape, exact.input).single("output.0", norm.shape, made.input);
  capture.exact("fp64.1", norm.weight_shape, exact.weight).single("output.1", norm.weight_shape, made.weight);
  capture.exact("fp64.2", norm.weight_shape, exact.bias).single("output.2", norm.weight_shape, made.bias);
  const auto found = capture.error(output);
  REQUIRE(found);
  return found->of_bound.value_or(-1);
}

TEST_CASE("the gradients of a normalisation stay within their bounds in either form, and with a defect do not",
          "[local]") {
  const NormCase norm = GENERATE(layer_norm_case(), batch_norm_case());
  CAPTURE(norm.name);
  for (const Moments moments : {Moments::about_zero, Moments::about_mean}) {
    for (const std::size_t output : {0, 1, 2}) {
      CAPTURE(output);
      CHECK(norm_share(norm, moments, 1, output) < 1);
      CHECK(norm_share(norm, moments, 1, output) > 0.001);
      CHECK(norm_share(norm, moments, 1 + 0x1p-6F, output) > 1);
    }
  }
}

TEST_CASE("a normalisation with another mask, or with running statistics, has no bound of its gradients", "[local]") {
  CHECK(norm_share(layer_norm_case(), Moments::about_zero, 1, 0, "[64], [true, false, true]") == -1);
  CHECK(norm_share(batch_norm_case(), Moments::about_zero, 1, 0, "true, 1e-05, [true, true, false]") == -1);
  CHECK(norm_share(batch_norm_case(), Moments::about_zero, 1, 0, "false, 1e-05, [true, true, true]") == -1);
}

TEST_CASE("the bounds of a normalisation's gradients are those worked out by hand", "[local]") {
  // One row (or channel) of g = 1 and 3, x = 2 and 0, mean 1, 1 / sigma 2, weight 2: sum |h| = 8, sum |h| (|x| + |m|)
  // = 12.
  const bool is_batch = GENERATE(false, true);
  const std::size_t w = is_batch ? 1 : 2;
  const Shape shape = is_batch ? Shape{2, 1} : Shape{1, 2};
  const Shape weight_shape{static_cast<std::int64_t>(w)};
  Capture capture(is_batch ? "aten::native_batch_norm_backward" : "aten::native_layer_norm_backward",
                  is_batch ? "true, 1e-05, [true, true, true]" : "[2], [true, true, true]");
  capture.single("input.0", shape, {1, 3}).single("input.1", shape, {2, 0});
  capture.single(is_batch ? "input.2" : "input.4", weight_shape, Singles(w, 2));
  capture.single(is_batch ? "input.5" : "input.2", {1}, {1}).single(is_batch ? "input.6" : "input.3", {1}, {2});
  capture.exact("fp64.0", shape, {1, 1}).single("output.0", shape, {1 + 0x1p-23F, 1});
  capture.exact("fp64.1", weight_shape, Exact(w, 1)).single("output.1", weight_shape, Singles(w, 1 + 0x1p-23F));
  capture.exact("fp64.2", weight_shape, Exact(w, 1)).single("output.2", weight_shape, Singles(w, 1 + 0x1p-23F));
  // 8 of r |h| = 4, and N + 16 = 18 of (2 x 8 + (2 + 1) 8 x 12) / 2.
  CHECK(capture.of_bound(0) == Approx(2 / (8 * 4 + 18 * (16 + 3 * 8 * 12) / 2.0)).epsilon(1e-5));
  // A channel's weight has both numbers, |g| (|x| + |m|) r = 6 + 6, in 2 + 5 roundings; a row's has one each, in 1 + 5.
  CHECK(capture.of_bound(1) == Approx(is_batch ? 2.0 / (7 * 6 * 2) : 2.0 / (6 * 3 * 2)).epsilon(1e-5));
  CHECK(capture.of_bound(2) == Approx(is_batch ? 2.0 / (2 * 4) : 2.0 / (1 * 1)).epsilon(1e-5));
}

TEST_CASE("a channel's bound has the sums of that channel alone, wherever its numbers lie", "[local]") {
  // (N, C, L) = (1, 2, 2): the first channel has the gradients of the test above, the second has ten times its
  // gradients.
  const Shape shape{1, 2, 2};
  Capture capture("aten::native_batch_norm_backward", "true, 1e-05, [true, true, true]");
  capture.single("input.0", shape, {1, 3, 10, 30}).single("input.1", shape, {2, 0, 2, 0});
  capture.single("input.2", {2}, {2, 2}).single("input.5", {2}, {1, 1}).single("input.6", {2}, {1, 1});
  const float off = 1 + 0x1p-23F;
  const auto with_first_off = [&](float first, float second) {
    Capture one = capture;
    one.exact("fp64.0", shape, {1, 1, 1, 1}).single("output.0", shape, {first, 1, second, 1});
    one.exact("fp64.1", {2}, {1, 1}).single("output.1", {2}, {first, second});
    one.exact("fp64.2", {2}, {1, 1}).single("output.2", {2}, {first, second});
    return one;
  };
  const double of_input = 8 * 2 + 18 * (8 + 3 * 12) / 2.0;  // 1 / sigma is 1
  CHECK(with_first_off(off, 1).of_bound(0) == Approx(2 / of_input).epsilon(1e-5));
  CHECK(with_first_off(1, off).of_bound(0) == Approx(2 / (10 * of_input)).epsilon(1e-5));
  CHECK(with_first_off(off, 1).of_bound(1) == Approx(2.0 / (7 * 6)).epsilon(1e-5));
  CHECK(with_first_off(1, off).of_bound(1) == Approx(2.0 / (10 * 7 * 6)).epsilon(1e-5));
  CHECK(with_first_off(1, off).of_bound(2) == Approx(2.0 / (10 * 2 * 4)).epsilon(1e-5));
}

TEST_CASE("a row's gradient needs both statistics of every row", "[local]") {
  const auto has_bound = [](const Shape& statistics) {
    Capture capture("aten::native_layer_norm_backward", "[2], [true, true, true]");
    capture.single("input.0", {1, 2}, {1, 3}).single("input.1", {1, 2}, {2, 0}).single("input.4", {2}, {1, 1});
    capture.single("input.2", {1}, {1})
        .single("input.3", statistics, Singles(static_cast<std::size_t>(statistics[0]), 1));
    capture.exact("fp64.0", {1, 2}, {1, 1}).single("output.0", {1, 2}, {1, 1});
    return capture.error()->of_bound.has_value();
  };
  CHECK(has_bound({1}));
  CHECK_FALSE(has_bound({2}));
}

// Two rows or channels of two numbers. `counts`: of gradient, x, mean, 1 / sigma, weight, where not as they belong.
bool norm_has_bound(bool is_batch, const std::vector<std::size_t>& counts, std::size_t output,
                    const char* constants = nullptr) {
  const char* own = is_batch ? "true, 1e-05, [true, true, true]" : "[2], [true, true, true]";
  Capture capture(is_batch ? "aten::native_batch_norm_backward" : "aten::native_layer_norm_backward",
                  constants == nullptr ? own : constants);
  const auto add = [&](int place, std::size_t count, bool is_matrix) {
    const auto extent = static_cast<std::int64_t>(count);
    const Shape shape = is_matrix ? Shape{extent / 2, 2} : Shape{extent};
    capture.single("input." + std::to_string(place), shape, Singles(count, 1));
  };
  add(0, counts[0], true);
  add(1, counts[1], true);
  add(is_batch ? 5 : 2, counts[2], false);
  add(is_batch ? 6 : 3, counts[3], false);
  add(is_batch ? 2 : 4, counts[4], false);
  const Shape shape = output == 0 ? Shape{2, 2} : Shape{2};
  const std::size_t elements = output == 0 ? 4 : 2;
  const std::string place = "." + std::to_string(output);
  capture.exact("fp64" + place, shape, Exact(elements, 1)).single("output" + place, shape, Singles(elements, 1));
  return capture.error(output)->of_bound.has_value();
}

TEST_CASE("a normalisation's gradients have bounds where all that they are made of is of one size", "[local]") {
  for (const bool is_batch : {false, true}) {
    for (const std::size_t output : {0, 1, 2}) {
      CAPTURE(is_batch, output);
      CHECK(norm_has_bound(is_batch, {4, 4, 2, 2, 2}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {2, 4, 2, 2, 2}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {6, 4, 2, 2, 2}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 1, 2, 2}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 3, 2, 2}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 2, 1, 2}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 2, 3, 2}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 1, 1, 2}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 3, 3, 2}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 2, 2, 1}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 2, 2, 3}, output));
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 2, 2, 0}, output));
      if (output == 0) CHECK_FALSE(norm_has_bound(is_batch, {2, 2, 2, 2, 2}, output));
      const char* in_part = is_batch ? "true, 1e-05, [true, true, false]" : "[2], [true, false, true]";
      CHECK_FALSE(norm_has_bound(is_batch, {4, 4, 2, 2, 2}, output, in_part));
    }
  }
  CHECK_FALSE(norm_has_bound(true, {4, 4, 2, 2, 2}, 1, "false, 1e-05, [true, true, true]"));
}

}  // namespace
}  // namespace reprobench
