// Bounds of what gives 16 bits: those of fp32, and what is rounded when it is stored.
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/captured_call_fixture.hpp"

namespace reprobench {
namespace {

TEST_CASE("a product of 16-bit numbers may be off by fp32 sums, and by one rounding of the result", "[local]") {
  const Half half = GENERATE(kBf16, kFp16);
  CAPTURE(half.dtype);
  // 3 times 1 plus 4 times 2.
  const auto share = [&](double exact, double made) {
    return Capture("aten::mm")
        .halves(half.dtype, "input.0", {1, 2}, {3, 4})
        .halves(half.dtype, "input.1", {2}, {1, 2})
        .exact("fp64.0", {1}, {exact})
        .exact("magnitude.0", {1}, {11})
        .halves(half.dtype, "output.0", {1}, {made})
        .of_bound();
  };
  const double exact = 11 - 4 * half.roundoff;
  const double in_fp32 = 4 * kRoundoff / (1 - 4 * kRoundoff) * 11 + kRoundoff * exact;
  const double smallest = half.dtype == kFp16.dtype ? 0x1p-25 : 0;
  CHECK(share(11, 11) == 0);
  CHECK(share(exact, 11) ==
        Approx(4 * half.roundoff / (in_fp32 + half.roundoff * (exact + in_fp32) + smallest)).epsilon(1e-12));
  CHECK(share(exact, 11) < 1);                       // the nearest
  CHECK(share(exact, 11 - 16 * half.roundoff) > 1);  // its neighbour
}

TEST_CASE("numbers of 16 bits are rounded once: between the two nearest is within, a step further is not", "[local]") {
  const Half half = GENERATE(kBf16, kFp16);
  CAPTURE(half.dtype);
  for (const double x : {0.3, 0.7, 1.1, 2.9, -1.7, -0.2}) {
    CAPTURE(x);
    const double held = half.rounded(x);
    const double exact = std::tanh(held);
    const double nearest = half.rounded(exact);
    const double step = std::ldexp(half.roundoff, std::ilogb(nearest) + 1);
    const auto share = [&](double made) {
      return Capture("aten::tanh")
          .halves(half.dtype, "input.0", {1}, {held})
          .exact("fp64.0", {1}, {exact})
          .halves(half.dtype, "output.0", {1}, {made})
          .of_bound();
    };
    CHECK(share(nearest) <= 1);
    CHECK(share(nearest + 2 * step) > 1);
    CHECK(share(nearest - 2 * step) > 1);
  }
}

TEST_CASE("a sigmoid's product whose every step is stored in 16 bits leaves its bound", "[local]") {
  const Half half = GENERATE(kBf16, kFp16);
  CAPTURE(half.dtype);
  Exact x;
  Exact exact;
  Exact in_fp32;
  Exact in_steps;
  for (const float number : numbers(512)) {
    x.push_back(half.rounded(number));
    exact.push_back(x.back() / (1 + std::exp(-x.back())));
    const auto narrow = static_cast<float>(x.back());
    in_fp32.push_back(narrow / (1 + std::exp(-narrow)));
    in_steps.push_back(x.back() / half.rounded(1 + half.rounded(std::exp(-x.back()))));
  }
  const auto share = [&](const Exact& made) {
    return Capture("aten::silu")
        .halves(half.dtype, "input.0", {512}, x)
        .exact("fp64.0", {512}, exact)
        .halves(half.dtype, "output.0", {512}, made)
        .of_bound();
  };
  CHECK(share(in_fp32) <= 1);
  CHECK(share(in_steps) > 1);
}

TEST_CASE("a softmax in 16 bits that computes in fp32 stays within its bound, and one of 16-bit sums does not",
          "[local]") {
  Exact x;
  double sum = 0;
  double sum_in_steps = 0;
  for (int i = 0; i < 1000; ++i) {
    x.push_back(kBf16.rounded(-0.001 * i));
    sum += std::exp(x.back());
    sum_in_steps = kBf16.rounded(sum_in_steps + std::exp(x.back()));
  }
  Exact exact;
  Exact in_steps;
  for (const double one : x) {
    exact.push_back(std::exp(one) / sum);
    in_steps.push_back(std::exp(one) / sum_in_steps);
  }
  const auto share = [&](const Exact& made) {
    return Capture("aten::_softmax", "0")
        .halves("BF16", "input.0", {1000}, x)
        .exact("fp64.0", {1000}, exact)
        .halves("BF16", "output.0", {1000}, made)
        .of_bound();
  };
  CHECK(share(exact) <= 1);
  CHECK(share(in_steps) > 1);
}

TEST_CASE("what moves numbers rounds none in 16 bits either", "[local]") {
  const auto share = [](double made) {
    return Capture("aten::relu")
        .halves("BF16", "input.0", {2}, {1, -1})
        .exact("fp64.0", {2}, {1, 0})
        .halves("BF16", "output.0", {2}, {made, 0})
        .of_bound();
  };
  CHECK(share(1) == 0);
  CHECK(share(1 + 0x1p-7) > 1e6);
}

TEST_CASE("a factor, a scaled operand and a mean are rounded to 16 bits before the result is", "[local]") {
  const auto share = [](const char* name, const char* constants, double exact, double made) {
    return Capture(name, constants)
        .halves("BF16", "input.0", {2}, {1, 1})
        .exact("fp64.0", {1}, {exact})
        .exact("magnitude.0", {1}, {1})
        .halves("BF16", "output.0", {1}, {made})
        .of_bound();
  };
  constexpr double kU = 0x1p-8;
  constexpr double kOff = 1 - 2 * kU;  // two halves of the step below 1
  CHECK(share("aten::mul", "0.1", kOff, 1) <= 1.01);
  CHECK(share("aten::mul", "0.1", kOff, 1) > 0.99);
  CHECK(share("aten::mean", "", kOff, 1) <= 1.01);
  CHECK(share("aten::mean", "", kOff, 1) > 0.99);
  CHECK(share("aten::add", "0.1", kOff, 1) <= 1.01);
  CHECK(share("aten::add", "0.1", kOff, 1) > 0.99);
  CHECK(share("aten::add", "1", kOff, 1) > 1.99);  // nothing is scaled
}

TEST_CASE("what fp16 cannot hold is infinite, or below its normal numbers, and that is rounding", "[local]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto share = [](const char* dtype, double exact, double made) {
    return Capture("aten::exp")
        .halves(dtype, "input.0", {1}, {1})
        .exact("fp64.0", {1}, {exact})
        .halves(dtype, "output.0", {1}, {made})
        .of_bound();
  };
  CHECK(share("F16", 70000, infinity) == 0);
  CHECK(share("F16", 65519.999, infinity) == 0);  // fp32 may have made 65520 of it
  CHECK(share("F16", 65519, infinity) > 1e6);
  CHECK(share("F16", 70000, -infinity) > 1e6);
  CHECK(share("BF16", 70000, infinity) > 1e6);
  CHECK(share("BF16", 0x1.ffp127, infinity) == 0);
  CHECK(share("BF16", 0x1.fcp127, infinity) > 1e6);
  CHECK(share("F16", 1e-8, 0) <= 1);
  CHECK(share("F16", 0x1p-25, 0) <= 1);
  CHECK(share("F16", 0x1.2p-24, 0) > 1);
}

TEST_CASE("a root's quotient and a cube are rounded twice in 16 bits, other functions once", "[local]") {
  const Half half = GENERATE(kBf16, kFp16);
  CAPTURE(half.dtype);
  const auto share = [&](const char* name, double exact, double made) {
    return Capture(name)
        .halves(half.dtype, "input.0", {1}, {1})
        .exact("fp64.0", {1}, {exact})
        .halves(half.dtype, "output.0", {1}, {made})
        .of_bound();
  };
  const double off = 1 - 2 * half.roundoff;
  CHECK(share("aten::rsqrt", off, 1) == Approx(1).epsilon(0.02));
  CHECK(share("aten::pow", off, 1) == Approx(1).epsilon(0.02));
  CHECK(share("aten::exp", off, 1) > 1.9);
}

TEST_CASE("a call that takes fp32 and multiplies in 16 bits has no bound, and one that adds such has", "[local]") {
  const auto error = [](const char* name, bool is_left_narrow, bool is_right_narrow) {
    Capture capture(name, "none, 0 (0x0000000000000000), false, none, false");
    int place = 0;
    for (const bool is_narrow : {is_left_narrow, is_right_narrow, is_right_narrow}) {
      const std::string input = "input." + std::to_string(place++);
      if (is_narrow) {
        capture.halves("BF16", input, {1, 1, 1, 1}, {1});
      } else {
        capture.single(input, {1, 1, 1, 1}, {1});
      }
    }
    capture.exact("fp64.0", {1, 1, 1, 1}, {1}).exact("magnitude.0", {1, 1, 1, 1}, {1});
    return *capture.halves("BF16", "output.0", {1, 1, 1, 1}, {1}).error();
  };
  for (const char* name : {"aten::linear", "aten::conv2d", "aten::scaled_dot_product_attention"}) {
    CAPTURE(name);
    CHECK(error(name, true, true).of_bound == 0);
    CHECK_FALSE(error(name, false, true).of_bound);
    CHECK(error(name, true, false).no_bound ==
          std::string(name) + " rounds its operands to 16 bits before it multiplies them");
  }
  CHECK(error("aten::add", true, false).of_bound == 0);
}

TEST_CASE("where 16-bit products may be summed up in 16 bits they have no bound, and all else has", "[local]") {
  const LocalSettings in_16_bits{false, false, true};
  const auto made = [&](const char* name, const char* dtype, const LocalSettings& settings) {
    Capture capture(name);
    capture.halves("F16", "input.0", {1, 1}, {1}).halves("F16", "input.1", {1, 1, 1}, {1});
    capture.exact("fp64.0", {1}, {1}).exact("magnitude.0", {1}, {1});
    if (std::string(dtype) == "F32") {
      capture.single("output.0", {1}, {1});
    } else {
      capture.halves(dtype, "output.0", {1}, {1});
    }
    return *capture.error(0, settings);
  };
  for (const char* name : {"aten::mm", "aten::addmm", "aten::convolution"}) {
    CAPTURE(name);
    CHECK(made(name, "F16", {}).of_bound == 0);
    CHECK_FALSE(made(name, "F16", in_16_bits).of_bound);
    CHECK(made(name, "BF16", in_16_bits).no_bound ==
          "16-bit products may be summed up in 16 bits: reduced_reduction, fp16_accumulation");
    CHECK(made(name, "F32", in_16_bits).of_bound == 0);
  }
  CHECK(made("aten::exp", "F16", in_16_bits).of_bound == 0);
}

TEST_CASE("every operator that has a bound in 16 bits says where it computes in fp32", "[local]") {
  std::map<std::string, std::set<std::string>> names;  // by number of roundings and source
  for (const auto* rows : {&forward_bounds(), &backward_bounds(), &attention_bounds()}) {
    for (const BoundRow& row : *rows) {
      const SixteenBits& bits = row.sixteen_bits;
      const std::string key = bits.source == nullptr ? "" : std::to_string(bits.roundings) + " " + bits.source;
      names[key].insert(row.names.begin(), row.names.end());
    }
  }
  CHECK(names.at("0 in 16 bits nothing is rounded either").contains("relu"));
  CHECK(names.at("1 in 16 bits fp32 inside and one rounding: ATen/OpMathType.h").contains("gelu_backward"));
  CHECK(names.at("1 in 16 bits fp32 sums and one rounding: ATen/AccumulateType.h") ==
        std::set<std::string>{"_log_softmax", "_log_softmax_backward_data", "_softmax", "_softmax_backward_data",
                              "batch_norm", "log_softmax", "native_batch_norm", "native_batch_norm_backward",
                              "native_layer_norm", "softmax"});
  CHECK(names.at("1 in 16 bits exp by 2^-13, weights and result rounded once: "
                 "ATen/native/cpu/FlashAttentionKernel.cpp") ==
        std::set<std::string>{"_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
                              "scaled_dot_product_attention"});
  CHECK(names.at("0 in 16 bits weights, scores' gradients and the sums after each block rounded: "
                 "ATen/native/cpu/FlashAttentionKernel.cpp") ==
        std::set<std::string>{"_scaled_dot_product_flash_attention_for_cpu_backward"});
  CHECK(names.at("1 in 16 bits fp32 sums in a row and one rounding, on a CPU the sums of rows stored after each: "
                 "ATen/native/cpu/layer_norm_kernel.cpp") == std::set<std::string>{"native_layer_norm_backward"});
  CHECK(names.at("0 in 16 bits each sum stored as it grows, in the order of tokens: ATen/native/Embedding.cpp") ==
        std::set<std::string>{"embedding_dense_backward"});
  CHECK(names.at("2 in 16 bits fp32 sums and two roundings: ATen/AccumulateType.h") ==
        std::set<std::string>{"mean", "sum"});
  CHECK(names
            .at("1 in 16 bits fp32 sums and one rounding: oneDNN's accumulation mode `strict`, cuBLAS's "
                "CUBLAS_COMPUTE_32F")
            .contains("addmm"));
  CHECK(names.at("") ==
        std::set<std::string>{"addcdiv", "addcmul", "convolution_backward", "lerp", "nll_loss_forward"});
  CHECK(Capture("aten::nll_loss_forward")
            .halves("BF16", "input.0", {1, 1}, {-1})
            .exact("fp64.0", {}, {1})
            .halves("BF16", "output.0", {}, {1})
            .error()
            ->no_bound == "no bound is derived for aten::nll_loss_forward in 16 bits");
  CHECK(Capture("aten::neg")
            .halves("BF16", "input.0", {1}, {1})
            .exact("fp64.0", {1}, {-1})
            .halves("BF16", "output.0", {1}, {-1})
            .error()
            ->source == "nothing is rounded; in 16 bits nothing is rounded either");
}

}  // namespace
}  // namespace reprobench
