#include <cmath>
#include <functional>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/captured_call_fixture.hpp"

// Each gradient as a kernel computes it in fp32, in every form that libraries take, against the same numbers in fp64:
// within its bound, and with a defect of rounding size beyond it.
namespace reprobench {
namespace {

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
