#include <cmath>
#include <functional>

#include "ci/catch.hpp"
#include "matrix/verdict/captured_call_fixture.hpp"

// Each gradient as a kernel computes it in fp32, in every form that libraries take, against the same numbers in fp64:
// within its bound, and with a defect of rounding size beyond it.
namespace reprobench {
namespace {

template <class T>
std::vector<T> as(const Singles& values) {
  return {values.begin(), values.end()};
}

enum class Form { difference_first, products_first };

// Over lines of `length` numbers that lie side by side; `scale` of what is subtracted is 1 but for a defect.
template <class T>
std::vector<T> softmax_gradient(const std::vector<T>& g, const std::vector<T>& y, std::size_t length, Form form,
                                T scale) {
  std::vector<T> result(g.size());
  for (std::size_t first = 0; first < g.size(); first += length) {
    T sum = 0;
    for (std::size_t i = first; i < first + length; ++i) sum += g[i] * y[i];
    sum *= scale;
    for (std::size_t i = first; i < first + length; ++i) {
      result[i] = form == Form::difference_first ? (g[i] - sum) * y[i] : g[i] * y[i] - sum * y[i];
    }
  }
  return result;
}

Singles probabilities(std::size_t lines, std::size_t length) {
  Singles y = numbers(lines * length, 7);
  for (std::size_t first = 0; first < y.size(); first += length) {
    float sum = 0;
    for (std::size_t i = first; i < first + length; ++i) sum += y[i] = std::exp(y[i]);
    for (std::size_t i = first; i < first + length; ++i) y[i] /= sum;
  }
  return y;
}

TEST_CASE("a softmax's gradient stays within its bound in either form, and with a sum off by 2^-15 does not",
          "[local]") {
  const Singles g = numbers(4096);
  const Singles y = probabilities(128, 32);
  const auto exact = softmax_gradient(as<double>(g), as<double>(y), 32, Form::difference_first, 1.0);
  const auto share = [&](Form form, float scale, const char* dimension, const Shape& shape) {
    return Capture("aten::_softmax_backward_data", dimension)
        .single("input.0", shape, g)
        .single("input.1", shape, y)
        .exact("fp64.0", shape, exact)
        .single("output.0", shape, softmax_gradient(g, y, 32, form, scale))
        .of_bound();
  };
  for (const Form form : {Form::difference_first, Form::products_first}) {
    CHECK(share(form, 1, "-1, 6", {128, 32}) < 1);
    CHECK(share(form, 1, "-1, 6", {128, 32}) > 0.02);
    CHECK(share(form, 1 + 0x1p-15F, "-1, 6", {128, 32}) > 1);
  }
  // The same numbers as 32 lines side by side have other sums.
  CHECK(share(Form::difference_first, 1, "2, 6", {2, 64, 32}) == share(Form::difference_first, 1, "-1, 6", {128, 32}));
  CHECK_FALSE(Capture("aten::_softmax_backward_data", "2, 6")
                  .single("input.0", {2, 2}, {1, 1, 1, 1})
                  .single("input.1", {2, 2}, {1, 1, 1, 1})
                  .exact("fp64.0", {2, 2}, {1, 1, 1, 1})
                  .single("output.0", {2, 2}, {1, 1, 1, 1})
                  .error()
                  ->of_bound);
}

// Three columns of two: g is 1 and 3, y 1/2 and 1/2; the first result is off by one roundoff.
std::optional<LocalError> columns_error(const char* name, const char* dimension, float y, double exact) {
  Singles made(6, static_cast<float>(exact));
  made[0] += std::copysign(0x1p-24F, made[0]);
  return Capture(name, dimension)
      .single("input.0", {2, 3}, {1, 1, 1, 3, 3, 3})
      .single("input.1", {2, 3}, Singles(6, y))
      .exact("fp64.0", {2, 3}, Exact(6, exact))
      .single("output.0", {2, 3}, made)
      .error();
}

TEST_CASE("the bounds of the gradients of softmax and its logarithm are those worked out by hand", "[local]") {
  // Along a column |g y| adds up to 2, in 2 + 3 roundings; 3 of |g|; times y.
  CHECK(*columns_error("aten::_softmax_backward_data", "0, 6", 0.5F, -0.5)->of_bound ==
        Approx(1 / (0.5 * (5 * 2 + 3 * 1))).epsilon(1e-6));
  // Along a row of three it is 1.5, in 3 + 3.
  CHECK(*columns_error("aten::_softmax_backward_data", "1, 6", 0.5F, -0.5)->of_bound ==
        Approx(1 / (0.5 * (6 * 1.5 + 3 * 1))).epsilon(1e-6));
  // exp(-1) times |g| of 4 in 2 + 3 roundings and 4 of exp; 2 of |g|.
  CHECK(*columns_error("aten::_log_softmax_backward_data", "0, 6", -1, -0.5)->of_bound ==
        Approx(1 / (std::exp(-1.0) * 4 * (5 + 4) + 2)).epsilon(1e-6));
  CHECK(*columns_error("aten::_log_softmax_backward_data", "-1, 6", -1, -0.5)->of_bound ==
        Approx(1 / (std::exp(-1.0) * 3 * (6 + 4) + 2)).epsilon(1e-6));
}

TEST_CASE("a softmax's logarithm's gradient stays within its bound, and with a sum off by 2^-15 does not", "[local]") {
  const Singles g = numbers(4096);
  Singles y = probabilities(128, 32);
  for (float& value : y) value = std::log(value);
  const auto gradient = []<class T>(const std::vector<T>& of_result, const std::vector<T>& log, T scale) {
    std::vector<T> result(log.size());
    for (std::size_t first = 0; first < log.size(); first += 32) {
      T sum = 0;
      for (std::size_t i = first; i < first + 32; ++i) sum += of_result[i];
      for (std::size_t i = first; i < first + 32; ++i) result[i] = of_result[i] - std::exp(log[i]) * sum * scale;
    }
    return result;
  };
  const auto share = [&](float scale) {
    return Capture("aten::_log_softmax_backward_data", "1, 6")
        .single("input.0", {128, 32}, g)
        .single("input.1", {128, 32}, y)
        .exact("fp64.0", {128, 32}, gradient(as<double>(g), as<double>(y), 1.0))
        .single("output.0", {128, 32}, gradient(g, y, scale))
        .of_bound();
  };
  CHECK(share(1) < 1);
  CHECK(share(1) > 0.02);
  CHECK(share(1 + 0x1p-15F) > 1);
}

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

struct ElementwiseGradient {
  const char* name;
  const char* constants;
  std::function<float(float, float)> in_fp32;
  std::function<double(double, double)> in_fp64;
};

template <class T>
T gelu_slope(T x) {
  return T(0.5) * (1 + std::erf(x * T(0.70710678118654752))) + x * std::exp(-x * x / 2) * T(0.39894228040143268);
}

template <class T>
T gelu_tanh_slope(T x) {
  const T beta = T(0.79788456080286536);
  const T t = std::tanh(beta * (x + T(0.044715) * x * x * x));
  return T(0.5) * (1 + t) + T(0.5) * x * (1 - t * t) * beta * (1 + 3 * T(0.044715) * x * x);
}

template <class T>
T silu_slope(T x) {
  const T s = 1 / (1 + std::exp(-x));
  return s * (1 + x * (1 - s));
}

// Of the fp32 result of a tanh, which is what its gradient is computed from.
template <class T>
T squared_tanh(T x) {
  const T y = std::tanh(static_cast<float>(x));
  return y * y;
}

TEST_CASE("elementwise gradients stay within their bound, and off by 2^-16 do not", "[local]") {
  const auto gradient = GENERATE(
      ElementwiseGradient{"aten::gelu_backward", "\"none\"", [](float g, float x) { return g * gelu_slope(x); },
                          [](double g, double x) { return g * gelu_slope(x); }},
      ElementwiseGradient{"aten::gelu_backward", "\"tanh\"", [](float g, float x) { return g * gelu_tanh_slope(x); },
                          [](double g, double x) { return g * gelu_tanh_slope(x); }},
      ElementwiseGradient{"aten::silu_backward", "", [](float g, float x) { return g * silu_slope(x); },
                          [](double g, double x) { return g * silu_slope(x); }},
      ElementwiseGradient{"aten::tanh_backward", "", [](float g, float x) { return g * (1 - squared_tanh<float>(x)); },
                          [](double g, double x) { return g * (1 - squared_tanh<double>(x)); }},
      ElementwiseGradient{"aten::nll_loss_backward", "", [](float g, float) { return -g / 64 * 3; },
                          [](double g, double) { return -g / 64 * 3; }});
  CAPTURE(gradient.name, gradient.constants);
  const Singles g = numbers(4096, 3);
  const Singles x = numbers(4096, 4);
  const auto share = [&](float factor, const char* constants) {
    Singles made;
    Exact exact;
    for (std::size_t i = 0; i < x.size(); ++i) {
      made.push_back(gradient.in_fp32(g[i], x[i]) * factor);
      exact.push_back(gradient.in_fp64(g[i], x[i]));
    }
    const auto found = Capture(gradient.name, constants)
                           .single("input.0", {64, 64}, g)
                           .single("input.1", {64, 64}, x)
                           .exact("fp64.0", {64, 64}, exact)
                           .single("output.0", {64, 64}, made)
                           .error();
    return found->of_bound.value_or(-1);
  };
  CHECK(share(1, gradient.constants) < 1);
  CHECK(share(1, gradient.constants) > 0.05);
  CHECK(share(1 + 0x1p-16F, gradient.constants) > 1);
  if (std::string(gradient.name) == "aten::gelu_backward") CHECK(share(1, "\"quick\"") == -1);
}

TEST_CASE("the bounds of elementwise gradients are those worked out by hand", "[local]") {
  // Of g = 2, with a result of 1 that is off by two roundoffs; in roundoffs of |g|, and two of the result where there
  // are.
  const auto share = [](const char* name, const char* constants, float x) {
    return Capture(name, constants)
        .single("input.0", {1}, {2})
        .single("input.1", {1}, {x})
        .exact("fp64.0", {1}, {1})
        .single("output.0", {1}, {1 + 0x1p-23F})
        .of_bound();
  };
  const double of_erf = 6 * 0.49 + 4;
  const double density_at_2 = std::exp(-2.0) / std::sqrt(2 * 3.14159265358979);
  const double slope_at_2 = std::sqrt(2 / 3.14159265358979) * (1 + 3 * 0.044715 * 4);
  const double tanh_at_2 = std::tanh(std::sqrt(2 / 3.14159265358979) * (2 + 0.044715 * 8));
  CHECK(share("aten::gelu_backward", "\"none\"", 0) == Approx(2 / (2 + 2 * (0.5 * (of_erf + 2) + 1))).epsilon(1e-5));
  CHECK(share("aten::gelu_backward", "\"none\"", -2) ==
        Approx(2 / (2 + 2 * (0.5 * (of_erf + 2) + 1 + 2 * density_at_2 * (1.5 * 4 + 4 + 5)))).epsilon(1e-5));
  CHECK(share("aten::gelu_backward", "\"tanh\"", -2) ==
        Approx(2 / (2 + 2 * (0.5 * (of_erf + 2) + 1 + slope_at_2 * (2 * of_erf + 2 + 6 * (1 - tanh_at_2 * tanh_at_2)))))
            .epsilon(1e-5));
  CHECK(share("aten::silu_backward", "", -2) == Approx(2 / (2 * 2 * 10 * (1 + 2) / (1 + std::exp(2.0)))).epsilon(1e-5));
  CHECK(share("aten::tanh_backward", "", 0.5F) == Approx(2.0 / (4 * 2)).epsilon(1e-5));
  CHECK(share("aten::nll_loss_backward", "", 0) == Approx(2.0 / 2).epsilon(1e-5));
}

TEST_CASE("gradients whose inputs on record are not of one size have no bound", "[local]") {
  const std::string name = GENERATE(Catch::Generators::as<std::string>{}, "gelu_backward", "silu_backward",
                                    "tanh_backward", "_softmax_backward_data", "_log_softmax_backward_data");
  const auto has_bound = [&](std::int64_t of_g, std::int64_t of_x) {
    return Capture("aten::" + name, name == "gelu_backward" ? "\"none\"" : "0, 6")
        .single("input.0", {of_g}, Singles(static_cast<std::size_t>(of_g), 1))
        .single("input.1", {of_x}, Singles(static_cast<std::size_t>(of_x), 1))
        .exact("fp64.0", {2}, {1, 1})
        .single("output.0", {2}, {1, 1})
        .error()
        ->of_bound.has_value();
  };
  CAPTURE(name);
  CHECK(has_bound(2, 2));
  CHECK_FALSE(has_bound(1, 2));
  CHECK_FALSE(has_bound(3, 2));
  if (name == "tanh_backward") return;  // needs g alone
  CHECK_FALSE(has_bound(2, 1));
  CHECK_FALSE(has_bound(2, 3));
}

TEST_CASE("each output of a convolution's gradient has the terms of what it is the gradient of", "[local]") {
  // g (2, 3, 5, 5), x (2, 4, 5, 5), w (3, 4, 3, 3): of x it is 3 x 9 terms, of w and of the bias 2 x 25.
  const auto share = [](const char* mask, std::size_t output, const LocalSettings& settings = {},
                        const char* way = "false") {
    Capture capture("aten::convolution_backward",
                    std::string("[3], [1, 1], [1, 1], [1, 1], ") + way + ", [0, 0], 1, " + mask);
    capture.single("input.0", {2, 3, 5, 5}, Singles(150, 1)).single("input.1", {2, 4, 5, 5}, Singles(200, 1));
    capture.single("input.2", {3, 4, 3, 3}, Singles(108, 1));
    const std::string place = "." + std::to_string(output);
    capture.exact("fp64" + place, {1}, {1})
        .exact("magnitude" + place, {1}, {4})
        .single("output" + place, {1}, {1 + 0x1p-23F});
    return capture.error(output, settings)->of_bound.value_or(-1);
  };
  const double of_input = 2 / ((3 * 9 + 2) * 4.0 + 1);
  const double of_weight = 2 / ((2 * 25 + 2) * 4.0 + 1);
  CHECK(share("[true, true, true]", 0) == Approx(of_input).epsilon(1e-4));
  CHECK(share("[true, true, true]", 1) == Approx(of_weight).epsilon(1e-4));
  CHECK(share("[true, true, true]", 2) == Approx(of_weight).epsilon(1e-4));
  CHECK(share("[true, true, false]", 0) == Approx(of_input).epsilon(1e-4));
  CHECK(share("[false, true, true]", 0) == Approx(of_weight).epsilon(1e-4));
  CHECK(share("[false, true, true]", 2) == -1);
  CHECK(share("[false, false, false]", 0) == -1);
  CHECK(share("[true]", 0) == Approx(of_input).epsilon(1e-4));
  CHECK(share("[true]", 1) == -1);  // a mask that is cut names nothing beyond its end
  CHECK(share("[true, true]", 2) == -1);
  CHECK(share("[true, true, true]", 0, {false, true}) == -1);  // Winograd and FFT round more
  CHECK(share("[true, true, true]", 0, {}, "true") == -1);     // transposed
}

TEST_CASE("the weight's gradient of a convolution with one output channel has the terms of all pixels", "[local]") {
  Capture capture("aten::convolution_backward", "[1], [1, 1], [1, 1], [1, 1], false, [0, 0], 1, [false, true, false]");
  capture.single("input.0", {2, 1, 5, 5}, Singles(50, 1)).single("input.2", {1, 4, 3, 3}, Singles(36, 1));
  capture.exact("fp64.0", {1}, {1}).exact("magnitude.0", {1}, {4}).single("output.0", {1}, {1 + 0x1p-23F});
  CHECK(capture.of_bound() == Approx(2 / ((50 + 2) * 4.0 + 1)).epsilon(1e-4));
}

TEST_CASE("a token's gradient adds up no more rows than there are tokens", "[local]") {
  Capture capture("aten::embedding_dense_backward", "10, -1, false");
  capture.single("input.0", {3, 1}, {1, 1, 1}).single("input.1", {3}, {0, 0, 0});
  capture.exact("fp64.0", {1}, {1}).exact("magnitude.0", {1}, {3}).single("output.0", {1}, {1 + 0x1p-23F});
  CHECK(capture.of_bound() == Approx(2 / (3 * 3 + 1.0)).epsilon(1e-5));
}

}  // namespace
}  // namespace reprobench
