// Bounds of the forward pass worked out by hand, where the tests of local_error_test.cpp have one row or element.
#include <cmath>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/captured_call_fixture.hpp"

namespace reprobench {
namespace {

constexpr float kTwoOff = 1 + 0x1p-23F;  // 1, off by two roundoffs

// What a result of 1 that is off by two roundoffs is of its bound, of one input of this size.
double elementwise_share(const char* name, float x, double magnitude = 1) {
  return Capture(name)
      .single("input.0", {1}, {x})
      .exact("fp64.0", {1}, {1})
      .exact("magnitude.0", {1}, {magnitude})
      .single("output.0", {1}, {kTwoOff})
      .of_bound();
}

TEST_CASE("elementwise operators have the roundings that they take", "[local]") {
  for (const char* name : {"aten::mul", "aten::div", "aten::sqrt"}) {
    CHECK(elementwise_share(name, 2) == Approx(2.0 / 2).epsilon(1e-6));
  }
  for (const char* name : {"aten::exp", "aten::log", "aten::pow"}) {
    CHECK(elementwise_share(name, 2) == Approx(2.0 / 4).epsilon(1e-6));
  }
  for (const char* name : {"aten::sigmoid", "aten::silu"}) {
    CHECK(elementwise_share(name, 2) == Approx(2.0 / 8).epsilon(1e-6));
  }
  CHECK(elementwise_share("aten::add", 2, 5) == Approx(2.0 / (2 * 5 + 1)).epsilon(1e-6));
  CHECK(elementwise_share("aten::gelu", -3) == Approx(2.0 / (3 + 0.5 * 3 * (6 * 0.49 + 4))).epsilon(1e-6));
  CHECK_FALSE(Capture("aten::gelu")
                  .single("input.0", {2}, {1, 1})
                  .exact("fp64.0", {1}, {1})
                  .single("output.0", {1}, {1})
                  .error()
                  ->of_bound);
}

TEST_CASE("a sum with a product has the roundings of what is added, and one of itself", "[local]") {
  const auto share = [](const char* name, float first, double exact, float made) {
    return Capture(name)
        .single("input.0", {1}, {first})
        .single("input.1", {1}, {3})
        .single("input.2", {1}, {7})
        .exact("fp64.0", {1}, {exact})
        .single("output.0", {1}, {made})
        .of_bound();
  };
  const double gamma_5 = 5 * kRoundoff / (1 - 5 * kRoundoff);
  for (const char* name : {"aten::addcmul", "aten::addcdiv", "aten::addcdiv_"}) {
    CHECK(share(name, 4, 1, kTwoOff) == Approx(2 * kRoundoff / (kRoundoff + 3 * gamma_5)).epsilon(1e-6));
    CHECK(share(name, 1, 1, kTwoOff) == Approx(2).epsilon(1e-6));  // nothing is added: the sum alone is rounded
    CHECK(share(name, 1, 1, 1 + 0x1p-20F) > 1);
  }
}

TEST_CASE("an interpolation has the roundings of the longer way, from either end", "[local]") {
  const auto share = [](float from, float to) {
    return Capture("aten::lerp_")
        .single("input.0", {1}, {from})
        .single("input.1", {1}, {to})
        .exact("fp64.0", {1}, {1})
        .single("output.0", {1}, {kTwoOff})
        .of_bound();
  };
  const double gamma_4 = 4 * kRoundoff / (1 - 4 * kRoundoff);
  const double longer = 2 * kRoundoff / (kRoundoff + 3 * gamma_4);
  CHECK(share(4, 0.5) == Approx(longer).epsilon(1e-6));
  CHECK(share(0.5, 4) == Approx(longer).epsilon(1e-6));
  CHECK(share(1, 1) == Approx(2).epsilon(1e-6));
  CHECK_FALSE(Capture("aten::lerp")
                  .single("input.0", {1}, {1})
                  .single("input.1", {2}, {1, 1})
                  .exact("fp64.0", {1}, {1})
                  .single("output.0", {1}, {1})
                  .error()
                  ->of_bound);
}

TEST_CASE("a product has as many terms as its left factor is wide, behind an addend or not", "[local]") {
  struct Row {
    const char* name;
    std::vector<Shape> inputs;
    double terms;
  };
  for (const Row& row : {
           Row{"aten::mm", {{3, 5}, {5, 7}}, 5},
           Row{"aten::bmm", {{2, 3, 5}, {2, 5, 7}}, 5},
           Row{"aten::dot", {{5}, {5}}, 5},
           Row{"aten::linear", {{3, 5}, {7, 5}}, 5},
           Row{"aten::addmm", {{7}, {3, 5}, {5, 9}}, 5},
           Row{"aten::baddbmm", {{2, 3, 7}, {2, 3, 5}, {2, 5, 7}}, 5},
           Row{"aten::addmv", {{3}, {3, 5}, {9}}, 5},
       }) {
    INFO(row.name);
    Capture capture(row.name);
    for (std::size_t i = 0; i < row.inputs.size(); ++i) {
      std::int64_t count = 1;
      for (const std::int64_t extent : row.inputs[i]) count *= extent;
      capture.single("input." + std::to_string(i), row.inputs[i], Singles(static_cast<std::size_t>(count), 1));
    }
    capture.exact("fp64.0", {1}, {1}).exact("magnitude.0", {1}, {4}).single("output.0", {1}, {kTwoOff});
    CHECK(capture.of_bound() == Approx(2 / ((row.terms + 2) * 4 + 1)).epsilon(1e-5));
    // Factors that are rounded to 11 bits, two of them, and a quarter for their product.
    const double of_inputs = 2.5 * 0x1p-11 / 0x1p-24;
    CHECK(capture.of_bound(0, {true}) == Approx(2 / ((row.terms + 2 + of_inputs) * 4 + 1)).epsilon(1e-5));
  }
}

TEST_CASE("a sum has the terms of each of its results", "[local]") {
  Capture capture("aten::mean");
  capture.single("input.0", {4, 6}, Singles(24, 1)).exact("fp64.0", {4}, {1, 1, 1, 1});
  capture.exact("magnitude.0", {4}, {1, 1, 9, 1}).single("output.0", {4}, {1, 1, kTwoOff, 1});
  CHECK(capture.of_bound() == Approx(2 / ((6 + 1) * 9.0 + 1)).epsilon(1e-5));
  CHECK(capture.error()->worst == 2);
}

TEST_CASE("of several elements the one that is furthest over its own bound is named", "[local]") {
  const auto worst = [](const Singles& made) {
    return Capture("aten::mul")
        .single("input.0", {3}, {1, 1, 1})
        .exact("fp64.0", {3}, {1, 1, 1})
        .single("output.0", {3}, made)
        .error()
        ->worst;
  };
  const float four_off = 1 + 0x1p-22F;
  CHECK(worst({kTwoOff, four_off, kTwoOff}) == 1);
  CHECK(worst({kTwoOff, 1, four_off}) == 2);
  CHECK(worst({four_off, kTwoOff, four_off}) == 0);  // the first of two
  CHECK(worst({kTwoOff, std::nanf(""), four_off}) == 1);
}

// Two rows of two: 3 and 1 (mean 2, 1 / sigma 1), 10 and -10 (mean 0, 1 / sigma 1/10); weights 1 and -2.
Capture two_rows(std::size_t off) {
  Capture capture("aten::native_layer_norm");
  capture.single("input.0", {2, 2}, {3, 1, 10, -10}).single("input.1", {2}, {1, -2});
  Singles y{1, 1, 1, 1};
  y[off] = kTwoOff;
  capture.exact("fp64.0", {2, 2}, {1, 1, 1, 1}).single("output.0", {2, 2}, y);
  const float tenth = 0.125F;
  capture.exact("fp64.1", {2}, {2, 0}).single("output.1", {2}, {off < 2 ? 2 * kTwoOff : 2, off < 2 ? 0 : 0x1p-24F});
  capture.exact("fp64.2", {2}, {1, tenth});
  capture.single("output.2", {2}, {off < 2 ? kTwoOff : 1, off < 2 ? tenth : tenth * kTwoOff});
  return capture;
}

TEST_CASE("each row of a layer norm has the bound of its own numbers", "[local]") {
  // The first: the mean is off by 2 roundings of |x|, 2 on average; the mean square is 5, and 1 / sigma, which is 1, is
  // off by 3/2 x 4 x 5 + 4.
  CHECK(two_rows(0).of_bound(1) == Approx(4.0 / (2 * 2 + 2)).epsilon(1e-5));
  CHECK(two_rows(0).of_bound(2) == Approx(2.0 / (30 + 4)).epsilon(1e-5));
  CHECK(two_rows(0).of_bound(0) == Approx(2.0 / (3 * (3 + 2) + 4 + (34 + 1) + 1)).epsilon(1e-5));
  CHECK(two_rows(1).of_bound(0) == Approx(2.0 / (2 * (3 * (1 + 2) + 4 + (34 + 1)) + 1)).epsilon(1e-5));
  // The second: 1 / sigma is 1/8, so the variance weighs 3/2 x 4 x 100 / 64.
  const double of_inverse = 1.5 * 4 * 100 / 64 + 4;
  CHECK(two_rows(2).of_bound(1) == Approx(1.0 / (2 * 10)).epsilon(1e-5));
  CHECK(two_rows(2).of_bound(2) == Approx(2.0 / of_inverse).epsilon(1e-5));
  CHECK(two_rows(2).of_bound(0) == Approx(2.0 / ((3 * 10 + 20 + 10 * (of_inverse + 1)) / 8 + 1)).epsilon(1e-5));
  CHECK(two_rows(3).of_bound(0) == Approx(2.0 / (2 * (3 * 10 + 20 + 10 * (of_inverse + 1)) / 8 + 1)).epsilon(1e-5));
}

TEST_CASE("a layer norm whose statistics and numbers are not of one size has no bound", "[local]") {
  const auto has_bound = [](std::size_t x, std::size_t means, std::size_t inverse, std::size_t weight) {
    const auto extent = [](std::size_t count) { return Shape{static_cast<std::int64_t>(count)}; };
    Capture capture("aten::native_layer_norm");
    capture.single("input.0", extent(x), Singles(x, 1)).single("input.1", extent(weight), Singles(weight, 1));
    capture.exact("fp64.0", extent(4), Exact(4, 1)).single("output.0", extent(4), Singles(4, 1));
    capture.exact("fp64.1", extent(means), Exact(means, 1)).exact("fp64.2", extent(inverse), Exact(inverse, 1));
    return capture.error()->of_bound.has_value();
  };
  CHECK(has_bound(4, 2, 2, 2));
  CHECK_FALSE(has_bound(4, 2, 1, 2));
  CHECK_FALSE(has_bound(4, 2, 3, 2));
  CHECK_FALSE(has_bound(5, 2, 2, 2));
  CHECK_FALSE(has_bound(4, 2, 2, 1));
  CHECK_FALSE(has_bound(4, 2, 2, 3));
  CHECK_FALSE(has_bound(4, 0, 0, 2));
}

TEST_CASE("a magnitude that is less than its own result is none, in whichever element", "[local]") {
  const auto has_bound = [](double first, double last) {
    Capture capture("aten::add");
    capture.single("input.0", {2}, {1, 1}).exact("fp64.0", {2}, {-1, 1});
    capture.exact("magnitude.0", {2}, {first, last}).single("output.0", {2}, {-1, 1});
    return capture.error()->of_bound.has_value();
  };
  CHECK(has_bound(1, 1));
  CHECK(has_bound(1 - 1e-10, 1 - 1e-10));  // as rounding in fp64 may leave it
  CHECK_FALSE(has_bound(1 - 1e-8, 1));
  CHECK_FALSE(has_bound(1, 1 - 1e-8));
}

TEST_CASE("numbers that lie side by side along a dimension are found for any rank", "[local]") {
  const auto lines = [](const char* constants, const Shape& shape) {
    OperatorRecord call;
    call.constants = constants;
    const std::vector<TensorView> tensors{{"input.0", "F32", shape, {}, 0}};
    const CapturedCall captured{call, 0, tensors, LocalSettings{}, nullptr, {}};
    const Lines found = lines_of(captured);
    return std::vector<std::size_t>{found.outer, found.length, found.inner};
  };
  using Found = std::vector<std::size_t>;
  CHECK(lines("0, 6", {2, 3, 5, 7}) == Found{1, 2, 105});
  CHECK(lines("1, 6", {2, 3, 5, 7}) == Found{2, 3, 35});
  CHECK(lines("2", {2, 3, 5, 7}) == Found{6, 5, 7});
  CHECK(lines("-1", {2, 3, 5, 7}) == Found{30, 7, 1});
  CHECK(lines("-4, 6", {2, 3, 5, 7}) == Found{1, 2, 105});
  CHECK(lines("4", {2, 3, 5, 7}) == Found{0, 0, 0});
  CHECK(lines("-5", {2, 3, 5, 7}) == Found{0, 0, 0});
  CHECK(lines("0", {}) == Found{0, 0, 0});
  CHECK(lines("0", {4}) == Found{1, 4, 1});
}

}  // namespace
}  // namespace reprobench
