#include "matrix/numerics/bounds/local_error.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/captured_call_fixture.hpp"

namespace reprobench {
namespace {

TEST_CASE("a product of K terms may be off by gamma of K and its scaling, and the rounding of the result", "[local]") {
  // 3 times 1 plus 4 times 2.
  const double bound = 4 * kRoundoff / (1 - 4 * kRoundoff) * 11 + kRoundoff * 11;
  const auto share = [&](double off, const LocalSettings& settings = {}) {
    return Capture("aten::mm")
        .single("input.0", {1, 2}, {3, 4})
        .single("input.1", {2}, {1, 2})
        .exact("fp64.0", {1}, {11 - off})
        .exact("magnitude.0", {1}, {11})
        .single("output.0", {1}, {11})
        .of_bound(0, settings);
  };
  CHECK(share(0) == 0);
  CHECK(share(0.5 * bound) == Approx(0.5));
  CHECK(share(3 * bound) == Approx(3));
  CHECK(share(3 * bound, {true}) < 0.01);  // TF32 rounds the factors to 11 bits
  CHECK(share(0.1, {true}) > 1);
}

TEST_CASE("of an addmm the terms are those of its factors, and a negative factor leaves no bound", "[local]") {
  const auto capture = [](double magnitude) {
    return Capture("aten::addmm")
        .single("input.0", {1}, {1})
        .single("input.1", {1, 2}, {3, 4})
        .single("input.2", {2}, {1, 2})
        .exact("fp64.0", {1}, {12 - 12 * kRoundoff})
        .exact("magnitude.0", {1}, {magnitude})
        .single("output.0", {1}, {12});
  };
  CHECK(capture(12).of_bound() == Approx(12 * kRoundoff / (4 * kRoundoff / (1 - 4 * kRoundoff) * 12 + 12 * kRoundoff)));
  const auto found = capture(10).error();
  CHECK_FALSE(found->of_bound);
  CHECK(found->no_bound == "what is on record of aten::addmm does not give its bound");
}

TEST_CASE("from 2^24 roundings on there is no bound, whatever the result", "[local]") {
  const auto sum_of = [](std::int64_t terms, float made) {
    return Capture("aten::sum")
        .single("input.0", {terms}, {1})  // its extent alone counts
        .exact("fp64.0", {1}, {1})
        .exact("magnitude.0", {1}, {1})
        .single("output.0", {1}, {made})
        .error();
  };
  constexpr std::int64_t kMost = (std::int64_t{1} << 24) - 2;
  CHECK(sum_of(kMost, 2).value().of_bound == Approx(1 / (0x1p24 - 1)));
  for (const std::int64_t terms : {kMost + 1, kMost + 2, 2 * kMost}) {
    CHECK_FALSE(sum_of(terms, 2).value().of_bound);
    CHECK(sum_of(terms, 2).value().no_bound == "what is on record of aten::sum does not give its bound");
  }
  const auto product = Capture("aten::mm")
                           .single("input.0", {1, kMost}, {1})
                           .exact("fp64.0", {1}, {1})
                           .exact("magnitude.0", {1}, {1})
                           .single("output.0", {1}, {1e30F})
                           .error();
  CHECK_FALSE(product.value().of_bound);
  for (const char* name : {"aten::softmax", "aten::_log_softmax"}) {
    const auto found = Capture(name, "-1")
                           .single("input.0", {2 * kMost}, {1})
                           .exact("fp64.0", {1}, {0.5})
                           .single("output.0", {1}, {0.75})
                           .error();
    CHECK_FALSE(found.value().of_bound);
  }
}

TEST_CASE("what rounds nothing is off by nothing, or by more than it may be", "[local]") {
  const auto relu = [](float made) {
    return Capture("aten::relu_")
        .single("input.0", {2}, {1, -1})
        .exact("fp64.0", {2}, {1, 0})
        .single("output.0", {2}, {made, 0});
  };
  CHECK(relu(1).of_bound() == 0);
  CHECK(relu(std::nextafter(1.0F, 2.0F)).of_bound() > 1e6);
  CHECK(relu(std::nanf("")).of_bound() > 1e6);
  CHECK(relu(std::nextafter(1.0F, 2.0F)).error()->error_rel == Approx(2 * kRoundoff));
}

TEST_CASE("the smallest that a clamp lets through is rounded to the tensor's type, and no further off", "[local]") {
  const auto clamp = [](float made) {
    return Capture("aten::clamp_min")
        .single("input.0", {1}, {-1})
        .exact("fp64.0", {1}, {0.1})
        .single("output.0", {1}, {made})
        .of_bound();
  };
  CHECK(clamp(0.1F) > 0);
  CHECK(clamp(0.1F) <= 1);
  CHECK(clamp(std::nextafter(std::nextafter(0.1F, 1.0F), 1.0F)) > 1);
}

TEST_CASE("what is no number is right where fp64 has none either, and nowhere else", "[local]") {
  const auto share = [](float made, double exact) {
    return Capture("aten::relu")
        .single("input.0", {1}, {1})
        .exact("fp64.0", {1}, {exact})
        .single("output.0", {1}, {made})
        .of_bound();
  };
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(share(std::nanf(""), std::nan("")) == 0);
  CHECK(share(infinity, infinity) == 0);
  CHECK(share(-infinity, infinity) > 1e6);
  CHECK(share(1, std::nan("")) > 1e6);
  CHECK(share(std::nanf(""), 1) > 1e6);
}

TEST_CASE("operators and types without a bound say so", "[local]") {
  const auto named = [](const std::string& name) {
    return Capture(name).single("input.0", {1}, {1}).exact("fp64.0", {1}, {1}).single("output.0", {1}, {1}).error();
  };
  CHECK(named("aten::cumsum")->no_bound == "no bound is derived for aten::cumsum");
  CHECK_FALSE(named("aten::cumsum")->of_bound);
  CHECK(named("aten::sum")->no_bound == "what is on record of aten::sum does not give its bound");
  CHECK_FALSE(Capture("aten::relu").single("input.0", {1}, {1}).single("output.0", {1}, {1}).error());
  const auto wide =
      Capture("aten::relu").exact("input.0", {1}, {1}).exact("fp64.0", {1}, {1}).exact("output.0", {1}, {1});
  CHECK(Capture(wide).error()->no_bound == "bounds are derived for fp32, bf16 and fp16");
  // What stands as fp64 and is none is no judgement at all.
  CHECK_FALSE(Capture("aten::relu")
                  .single("input.0", {1}, {1})
                  .single("fp64.0", {1}, {1})
                  .single("output.0", {1}, {1})
                  .error());
  for (const Shape& shape : {Shape{2}, Shape{4}, Shape{1, 3}}) {
    const auto count = static_cast<std::size_t>(shape.back());
    CHECK_FALSE(Capture("aten::relu")
                    .single("input.0", {3}, {1, 1, 1})
                    .exact("fp64.0", shape, Exact(count, 1))
                    .single("output.0", {3}, {1, 1, 1})
                    .error());
  }
  for (const char* name : {"aten::_softmax", "aten::_log_softmax"}) {
    CHECK_FALSE(Capture(name, "0, false").exact("fp64.0", {1}, {1}).single("output.0", {1}, {1}).error()->of_bound);
  }
  CHECK(Capture("aten::relu")
            .single("input.0", {1}, {0})
            .exact("fp64.0", {1}, {0})
            .single("output.0", {1}, {0})
            .error()
            ->error_rel == 0);
}

struct Function {
  const char* name;
  std::function<float(float)> in_fp32;
  std::function<double(double)> in_fp64;
};

TEST_CASE("functions stay within their bound, and with an argument off by 2^-16 do not", "[local]") {
  const Function function =
      GENERATE(Function{"aten::exp", [](float x) { return std::exp(x); }, [](double x) { return std::exp(x); }},
               Function{"aten::tanh", [](float x) { return std::tanh(x); }, [](double x) { return std::tanh(x); }},
               Function{"aten::sigmoid", [](float x) { return 1 / (1 + std::exp(-x)); },
                        [](double x) { return 1 / (1 + std::exp(-x)); }},
               Function{"aten::gelu", [](float x) { return 0.5F * x * (1 + std::erf(x * 0.70710678F)); },
                        [](double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }});
  CAPTURE(function.name);
  const Singles x = numbers(4096);
  const auto share = [&](float factor) {
    Singles made;
    Exact exact;
    for (const float value : x) {
      made.push_back(function.in_fp32(value * factor));
      exact.push_back(function.in_fp64(value));
    }
    return Capture(function.name)
        .single("input.0", {64, 64}, x)
        .exact("fp64.0", {64, 64}, exact)
        .single("output.0", {64, 64}, made)
        .of_bound();
  };
  CHECK(share(1) < 1);
  CHECK(share(1) > 0.05);
  CHECK(share(1 + 0x1p-16F) > 1);
}

TEST_CASE("a softmax stays within its bound in any row, and one whose scale is off by 2^-12 does not", "[local]") {
  const Singles x = numbers(4096);
  const auto share = [&](float factor, const char* dimension) {
    Singles made(4096);
    Exact exact(4096);
    for (std::size_t row = 0; row < 128; ++row) {
      float sum = 0;
      double exact_sum = 0;
      for (std::size_t i = row * 32; i < row * 32 + 32; ++i) {
        sum += made[i] = std::exp(x[i] * factor - 20.0F);
        exact_sum += exact[i] = std::exp(static_cast<double>(x[i]) - 20);
      }
      for (std::size_t i = row * 32; i < row * 32 + 32; ++i) {
        made[i] /= sum;
        exact[i] /= exact_sum;
      }
    }
    return Capture("aten::_softmax", dimension)
        .single("input.0", {128, 32}, x)
        .exact("fp64.0", {128, 32}, exact)
        .single("output.0", {128, 32}, made)
        .of_bound();
  };
  CHECK(share(1, "-1, false") < 1);
  CHECK(share(1 + 0x1p-12F, "1, false") > 1);
  CHECK(share(1, "-1, false") == share(1, "1, false"));
}

TEST_CASE("a layer norm stays within its bound in its three outputs, and with another epsilon does not", "[local]") {
  const std::size_t width = 64;
  Singles x = numbers(64 * width);
  for (float& value : x) value *= 0.01F;  // so that epsilon counts
  const Singles weight(width, 1.5F);
  const Singles bias(width, 0.25F);
  const auto capture = [&](float epsilon) {
    Singles y, mean, inverse;
    Exact exact_y, exact_mean, exact_inverse;
    for (std::size_t row = 0; row < 64; ++row) {
      float sum = 0, squares = 0;
      double exact_sum = 0, exact_squares = 0;
      for (std::size_t i = row * width; i < (row + 1) * width; ++i) sum += x[i], exact_sum += x[i];
      mean.push_back(sum / static_cast<float>(width));
      exact_mean.push_back(exact_sum / static_cast<double>(width));
      for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
        squares += (x[i] - mean[row]) * (x[i] - mean[row]);
        exact_squares += (x[i] - exact_mean[row]) * (x[i] - exact_mean[row]);
      }
      inverse.push_back(1 / std::sqrt(squares / static_cast<float>(width) + epsilon));
      exact_inverse.push_back(1 / std::sqrt(exact_squares / static_cast<double>(width) + 1e-5));
      for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
        y.push_back((x[i] - mean[row]) * inverse[row] * weight[0] + bias[0]);
        exact_y.push_back((x[i] - exact_mean[row]) * exact_inverse[row] * 1.5 + 0.25);
      }
    }
    return Capture("aten::native_layer_norm")
        .single("input.0", {64, 64}, x)
        .single("input.1", {64}, weight)
        .single("input.2", {64}, bias)
        .exact("fp64.0", {64, 64}, exact_y)
        .exact("fp64.1", {64}, exact_mean)
        .exact("fp64.2", {64}, exact_inverse)
        .single("output.0", {64, 64}, y)
        .single("output.1", {64}, mean)
        .single("output.2", {64}, inverse);
  };
  for (const std::size_t output : {0, 1, 2}) CHECK(capture(1e-5F).of_bound(output) < 1);
  CHECK(capture(1.1e-5F).of_bound(0) > 1);
  CHECK(capture(1.1e-5F).of_bound(1) < 1);
  CHECK(capture(1.1e-5F).of_bound(2) > 1);
}

TEST_CASE("the bounds of a layer norm are those worked out by hand", "[local]") {
  // Of 1 and -1 the mean is 0, 1 / sigma is 1. In units of roundoff: the mean is summed, 2; the variance weighs
  // 3 / 2 x 4 and two functions 4; y has three of the difference, the mean's, the inverse's and two more.
  Capture capture("aten::native_layer_norm");
  const float off = 1 + 0x1p-23F;  // by 2
  capture.single("input.0", {1, 2}, {1, -1}).single("input.1", {2}, {1, 1});
  capture.exact("fp64.0", {1, 2}, {1, -1}).exact("fp64.1", {1}, {0}).exact("fp64.2", {1}, {1});
  capture.single("output.0", {1, 2}, {off, -1}).single("output.1", {1}, {0x1p-24F}).single("output.2", {1}, {off});
  CHECK(capture.of_bound(1) == Approx(1.0 / 2).epsilon(1e-6));
  CHECK(capture.of_bound(2) == Approx(2.0 / (1.5 * 4 + 4)).epsilon(1e-6));
  CHECK(capture.of_bound(0) == Approx(2.0 / (3 + 2 + (10 + 1) + 1)).epsilon(1e-6));
}

// A result of 1 that is off by two roundoffs.
double share_of_one(const char* name, const char* constants, const Shape& second, double magnitude,
                    const LocalSettings& settings = {}) {
  std::int64_t count = 1;
  for (const std::int64_t extent : second) count *= extent;
  const auto found = Capture(name, constants)
                         .single("input.0", {8, 5}, Singles(40, -1))
                         .single("input.1", second, Singles(static_cast<std::size_t>(count), 1))
                         .exact("fp64.0", {1}, {1})
                         .exact("magnitude.0", {1}, {magnitude})
                         .single("output.0", {1}, {1 + 0x1p-23F})
                         .error(0, settings);
  return found->of_bound.value_or(-1);
}

TEST_CASE("a difference is rounded once, and one of a scaled operand has no bound on record", "[local]") {
  CHECK(share_of_one("aten::sub", "1", {1}, 0) == Approx(2.0 / 2).epsilon(1e-5));
  CHECK(share_of_one("aten::sub_", "1", {1}, 0) == Approx(2.0 / 2).epsilon(1e-5));
  CHECK(share_of_one("aten::sub", "2", {1}, 0) == -1);
}

TEST_CASE("a convolution adds up what is under its kernel, unless a library transforms it", "[local]") {
  // Four channels under 3 x 3, and two roundings more, of sizes that add up to 6.
  const char* plain = "[1, 1], [1, 1], [1, 1], false, [0, 0], 1";
  CHECK(share_of_one("aten::convolution", plain, {7, 4, 3, 3}, 6) == Approx(2 / ((36 + 2) * 6.0 + 1)).epsilon(1e-4));
  CHECK(share_of_one("aten::convolution", plain, {7, 4, 3, 3}, 6, {false, true}) == -1);
  CHECK(share_of_one("aten::convolution", "[1, 1], [1, 1], [1, 1], true, [0, 0], 1", {7, 4, 3, 3}, 6) == -1);
}

TEST_CASE("the mean of logarithms of probabilities is a sum of as many as there are samples", "[local]") {
  CHECK(share_of_one("aten::nll_loss_forward", "1, -100", {8}, 0) == Approx(2.0 / (8 + 2)).epsilon(1e-5));
  Capture positive("aten::nll_loss_forward", "1, -100");
  positive.single("input.0", {2, 1}, {-1, 1}).exact("fp64.0", {1}, {1}).single("output.0", {1}, {1});
  CHECK_FALSE(positive.error()->of_bound);
}

TEST_CASE("a likelihood of samples that are not averaged, or of more dimensions, has no bound", "[local]") {
  const auto has_bound = [](const Shape& shape, const Shape& of_result) {
    const auto count = static_cast<std::size_t>(of_result.empty() ? 1 : of_result[0]);
    return Capture("aten::nll_loss_forward", "1, -100")
        .single("input.0", shape, Singles(8, -1))
        .exact("fp64.0", of_result, Exact(count, 1))
        .single("output.0", of_result, Singles(count, 1))
        .error()
        ->of_bound.has_value();
  };
  CHECK(has_bound({4, 2}, {}));
  CHECK_FALSE(has_bound({4, 2}, {4}));
  CHECK_FALSE(has_bound({2, 2, 2}, {}));
  CHECK_FALSE(has_bound({8}, {}));
}

TEST_CASE("the bound of a layer norm's 1 / sigma grows with the numbers it sums up", "[local]") {
  // Of four numbers of size 1/2 it is 2: 4 + 2 roundings of the mean square, 1/4, which weighs 3 / 2 x 2 x 2, and two
  // functions; off by two roundoffs of itself.
  Capture capture("aten::native_layer_norm");
  capture.single("input.0", {1, 4}, {0.5, -0.5, 0.5, -0.5}).single("input.1", {4}, {1, 1, 1, 1});
  capture.exact("fp64.0", {1, 4}, {1, -1, 1, -1}).exact("fp64.1", {1}, {0}).exact("fp64.2", {1}, {2});
  capture.single("output.2", {1}, {2 * (1 + 0x1p-23F)});
  CHECK(capture.of_bound(2) == Approx(2.0 / (1.5 * 6 + 4)).epsilon(1e-6));
  CHECK(capture.error(2)->source == "gamma_N of mean and variance, then four roundings");
}

TEST_CASE("a layer norm without weights has a bound of its statistics alone", "[local]") {
  Capture capture("aten::native_layer_norm");
  capture.single("input.0", {1, 2}, {1, -1});
  capture.exact("fp64.0", {1, 2}, {1, -1}).exact("fp64.1", {1}, {0}).exact("fp64.2", {1}, {1});
  capture.single("output.0", {1, 2}, {1, -1}).single("output.1", {1}, {0}).single("output.2", {1}, {1});
  CHECK_FALSE(capture.error(0)->of_bound);
  CHECK(capture.of_bound(1) == 0);
  CHECK(capture.of_bound(2) == 0);
}

TEST_CASE("a product of numbers without a dimension to sum over has no bound", "[local]") {
  const auto found = Capture("aten::mm")
                         .single("input.0", {}, {1})
                         .exact("fp64.0", {}, {1})
                         .exact("magnitude.0", {}, {1})
                         .single("output.0", {}, {1})
                         .error();
  CHECK_FALSE(found->of_bound);
}

TEST_CASE("every operator that has a bound, and where it comes from", "[local]") {
  const auto source_of = [](const std::string& name) {
    std::string source = "none";
    for (const auto* rows : {&forward_bounds(), &backward_bounds()}) {
      for (const BoundRow& row : *rows) {
        for (const std::string_view one : row.names) {
          if (one == name) source = row.source;
        }
      }
    }
    return source;
  };
  const std::map<std::string, std::vector<const char*>> sources = {
      {"nothing is rounded",
       {"relu", "neg", "abs", "clone", "contiguous", "embedding", "index_select", "cat", "max_pool2d_with_indices",
        "maximum", "minimum", "stack", "threshold_backward"}},
      {"IEEE 754: correctly rounded, a scalar factor as well",
       {"mul", "div", "sqrt", "reciprocal", "masked_fill", "clamp", "clamp_min", "clamp_max", "where"}},
      {"IEEE 754: correctly rounded, a scaled operand as well", {"add"}},
      {"IEEE 754: correctly rounded", {"sub"}},
      {"IEEE 754: a quotient and a product, correctly rounded", {"nll_loss_backward"}},
      {"2 ULP: SLEEF 3 (1.0 ULP variants), CUDA C++ Programming Guide, accuracy of mathematical functions",
       {"exp", "log", "tanh", "erf", "sin", "cos", "rsqrt", "pow"}},
      {"gamma_K sum |x||y|: Higham 2002, section 3.5",
       {"mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "matmul", "linear"}},
      {"gamma_K sum |x||w|: Higham 2002, section 3.5",
       {"convolution", "_convolution", "conv2d", "mkldnn_convolution", "thnn_conv2d", "_slow_conv2d_forward"}},
      {"gamma_n sum |x|: Higham 2002, section 4.2", {"sum", "mean"}},
      {"gamma_N sum |x|: Higham 2002, section 4.2", {"nll_loss_forward"}},
      {"gamma_n sum |g|: Higham 2002, section 4.2", {"embedding_dense_backward"}},
      {"gamma_K sum |g||w|: Higham 2002, section 3.5", {"convolution_backward"}},
      {"exp of 2 ULP, a sum, a quotient, a product", {"sigmoid", "silu"}},
      {"erf or tanh of 2 ULP, its argument by 6 roundings", {"gelu"}},
      {"erf or tanh of 2 ULP, its argument by 6 roundings, a density", {"gelu_backward"}},
      {"exp of 2 ULP, gamma_K of the sum, a quotient", {"softmax", "_softmax"}},
      {"exp and log of 2 ULP, gamma_K of the sum", {"log_softmax", "_log_softmax"}},
      {"gamma_N of mean and variance, then four roundings", {"native_layer_norm"}},
      {"a square, a difference, a product", {"tanh_backward"}},
      {"a sigmoid's bound, a difference, three products", {"silu_backward"}},
      {"gamma_K of sum |g y|, a difference, a product", {"_softmax_backward_data"}},
      {"gamma_K of sum |g|, exp of 2 ULP", {"_log_softmax_backward_data"}},
      {"gamma_N of the sums of a row, of the rows for weight and bias", {"native_layer_norm_backward"}},
      {"gamma_N of the sums of a channel", {"native_batch_norm_backward"}},
      {"gamma_N of a channel's mean and variance, then five roundings; of running statistics four of the call's own",
       {"native_batch_norm"}},
  };
  for (const auto& [source, names] : sources) {
    for (const char* name : names) {
      CAPTURE(name);
      CHECK(source_of(name) == source);
    }
  }
  CHECK(Capture("aten::neg")
            .single("input.0", {1}, {1})
            .exact("fp64.0", {1}, {-1})
            .single("output.0", {1}, {-1})
            .error()
            ->source == "nothing is rounded");
}

// Six values of which the first is off by one roundoff, over rows of two or columns of three.
std::optional<LocalError> softmax_error(const char* name, const char* dimension, double exact) {
  Singles made(6, static_cast<float>(exact));
  made[0] += std::copysign(0x1p-24F, made[0]);
  return Capture(name, dimension)
      .single("input.0", {3, 2}, Singles(6, 0))
      .exact("fp64.0", {3, 2}, Exact(6, exact))
      .single("output.0", {3, 2}, made)
      .error();
}

TEST_CASE("the bounds of softmax and its logarithm are those worked out by hand, along either dimension", "[local]") {
  const double ln2 = std::log(2.0);
  const double ln3 = std::log(3.0);
  struct Row {
    const char* dimension;
    double terms;
    double ln_terms;
  };
  for (const Row& row :
       {Row{"1, false", 2, ln2}, Row{"-1, false", 2, ln2}, Row{"0, false", 3, ln3}, Row{"-2, false", 3, ln3}}) {
    CAPTURE(row.dimension);
    // Of y = 1/2 the argument is ln K + ln 2; exp has 2 x 2 ULP in numerator and sum, then two roundings and the sum's
    // K.
    const double of_softmax = 0.5 * (row.ln_terms + ln2 + 4 * 2 + 2 + row.terms);
    for (const char* name : {"aten::softmax", "aten::_softmax"}) {
      CHECK(*softmax_error(name, row.dimension, 0.5)->of_bound == Approx(1 / of_softmax).epsilon(1e-6));
    }
    // Of y = -1/2: the difference, twice |y| + ln K; ln K, the sum's K and two functions; the result.
    const double of_logarithm = 2 * (0.5 + row.ln_terms) + row.ln_terms + row.terms + 2 * 2 * (1 + row.ln_terms) + 0.5;
    for (const char* name : {"aten::log_softmax", "aten::_log_softmax"}) {
      CHECK(*softmax_error(name, row.dimension, -0.5)->of_bound == Approx(1 / of_logarithm).epsilon(1e-6));
    }
  }
  for (const char* dimension : {"2, false", "-3, false"}) {
    CHECK_FALSE(softmax_error("aten::softmax", dimension, 0.5)->of_bound);
    CHECK_FALSE(softmax_error("aten::log_softmax", dimension, -0.5)->of_bound);
  }
}

}  // namespace
}  // namespace reprobench
