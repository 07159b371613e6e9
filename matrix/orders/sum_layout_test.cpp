#include "matrix/orders/sum_layout.hpp"

#include <algorithm>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

SumLayout layout_of(const std::string& call, const std::string& output = "output.0") {
  std::string why_not;
  const auto layout = sum_layout(parse_call(call), output, why_not);
  CAPTURE(call, output, why_not);
  REQUIRE(layout);
  return *layout;
}

std::string why_not(const std::string& call, const std::string& output = "output.0") {
  std::string why;
  CHECK_FALSE(sum_layout(parse_call(call), output, why));
  return why;
}

// "0x0 1x4": elements of both operands, term by term; "-" where there is none.
std::string terms(const SumLayout& layout, std::int64_t element) {
  std::vector<SumTerm> found;
  layout.terms_of(element, found);
  std::string text;
  for (const SumTerm& term : found) {
    text += text.empty() ? "" : " ";
    if (term.left < 0) {
      text += "-";
      continue;
    }
    text += std::to_string(term.left) + (term.right < 0 ? "" : "x" + std::to_string(term.right));
  }
  return text;
}

using Shape = std::vector<std::int64_t>;

TEST_CASE("an element of a product is the sum over a row and a column", "[orders]") {
  const SumLayout mm = layout_of("mm(f32[2, 3], f32[3, 4])");
  CHECK(mm.shape == Shape{2, 4});
  CHECK(mm.most_terms() == 3);
  CHECK((mm.left.tensor == 0 && mm.right->tensor == 1 && !mm.bias));
  CHECK(terms(mm, 0) == "0x0 1x4 2x8");
  CHECK(terms(mm, 7) == "3x3 4x7 5x11");

  const SumLayout addmm = layout_of("addmm(f32[4], f32[2, 3], f32[3, 4])");
  CHECK((addmm.left.tensor == 1 && addmm.right->tensor == 2 && addmm.bias->tensor == 0));
  CHECK(terms(addmm, 7) == "3x3 4x7 5x11");
  CHECK((addmm.bias_of(0) == 0 && addmm.bias_of(7) == 3));
  CHECK(layout_of("addmm(f32[2, 4], f32[2, 3], f32[3, 4])").bias_of(7) == 7);
  CHECK(layout_of("addmm(f32[2, 1], f32[2, 3], f32[3, 4])").bias_of(7) == 1);
  CHECK(mm.bias_of(7) == -1);

  CHECK(terms(layout_of("dot(f32[3], f32[3])"), 0) == "0x0 1x1 2x2");
  CHECK(layout_of("dot(f32[3], f32[3])").shape.empty());
  CHECK(terms(layout_of("mv(f32[2, 3], f32[3])"), 1) == "3x0 4x1 5x2");
  CHECK(terms(layout_of("bmm(f32[2, 2, 3], f32[2, 3, 4])"), 15) == "9x15 10x19 11x23");
  // The weight of `linear` lies the other way round, and its rows may have several axes.
  const SumLayout linear = layout_of("linear(f32[2, 2, 3], f32[4, 3], f32[4])");
  CHECK(linear.shape == Shape{4, 4});
  CHECK(terms(linear, 15) == "9x9 10x10 11x11");
  CHECK(linear.bias_of(15) == 3);
}

TEST_CASE("a gradient of a product is the sum over what its operand met", "[orders]") {
  const std::string call = "addmm(f32[4], f32[2, 3], f32[3, 4])";
  // What the backward pass is given comes behind the call's three tensors.
  const SumLayout left = layout_of(call, "gradient.1");
  CHECK((left.left.tensor == 3 && left.right->tensor == 2 && left.shape == Shape{2, 3}));
  CHECK(terms(left, 5) == "4x8 5x9 6x10 7x11");
  const SumLayout right = layout_of(call, "gradient.2");
  CHECK((right.left.tensor == 3 && right.right->tensor == 1 && right.shape == Shape{3, 4}));
  CHECK(terms(right, 11) == "3x2 7x5");
  const SumLayout bias = layout_of(call, "gradient.0");
  CHECK((bias.left.tensor == 3 && !bias.right && bias.shape == Shape{4}));
  CHECK(terms(bias, 3) == "3 7");
  CHECK(terms(layout_of("linear(f32[2, 3], f32[4, 3])", "gradient.1"), 11) == "3x2 7x5");
  CHECK(terms(layout_of("addmm(f32[2, 4], f32[2, 3], f32[3, 4])", "gradient.0"), 7) == "7");  // met once
  CHECK(why_not("mm(f32[2, 3], f32[3, 4])", "gradient.2") == "nothing is added up in it, as far as is known");
}

TEST_CASE("sums and means go over the axes that they name", "[orders]") {
  CHECK(terms(layout_of("sum(f32[2, 3])"), 0) == "0 1 2 3 4 5");
  const SumLayout first = layout_of("sum.dim_IntList(f32[2, 3], [0])");
  CHECK(first.shape == Shape{3});
  CHECK(terms(first, 2) == "2 5");
  const SumLayout last = layout_of("mean.dim(f32[2, 3], [-1], true)");
  CHECK(last.shape == Shape{2, 1});
  CHECK(last.divisor == 3);
  CHECK(terms(last, 1) == "3 4 5");
  CHECK(first.divisor == 1);
  CHECK(terms(layout_of("sum.dim_IntList(f32[2, 3, 2], [0, 2], false)"), 1) == "2 3 8 9");
  CHECK(why_not("sum(f32[2, 3])", "output.1") == "it is called in a way that is not known to be one sum");
}

TEST_CASE("each element of the gradient of a sum or mean is one term, of a mean divided", "[orders]") {
  const SumLayout of_all = layout_of("sum(f32[2, 3])", "gradient.0");
  CHECK((of_all.shape == Shape{2, 3} && of_all.left.tensor == 1 && of_all.most_terms() == 1 && of_all.divisor == 1));
  CHECK(terms(of_all, 5) == "0");
  CHECK(terms(layout_of("sum.dim_IntList(f32[2, 3, 2], [0, 2], false)", "gradient.0"), 9) == "1");
  const SumLayout mean = layout_of("mean.dim(f32[2, 3], [-1], true)", "gradient.0");
  CHECK((mean.divisor == 3 && mean.most_terms() == 1 && mean.elements() == 6));
  CHECK(terms(mean, 5) == "1");
}

// What a convolution does, written as loops: (output element, image element, weight element) of every term.
struct Met {
  std::int64_t output, image, weight;
  auto operator<=>(const Met&) const = default;
};

std::vector<Met> loops(std::int64_t images, std::int64_t inputs, std::int64_t size, std::int64_t outputs,
                       std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation,
                       std::int64_t groups = 1) {
  const std::int64_t of_group = inputs / groups;
  const std::int64_t made = (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  std::vector<Met> all;
  for (std::int64_t b = 0; b < images; ++b)
    for (std::int64_t o = 0; o < outputs; ++o)
      for (std::int64_t y = 0; y < made; ++y)
        for (std::int64_t x = 0; x < made; ++x)
          for (std::int64_t j = 0; j < of_group; ++j)
            for (std::int64_t u = 0; u < kernel; ++u)
              for (std::int64_t v = 0; v < kernel; ++v) {
                const std::int64_t row = y * stride + u * dilation - padding;
                const std::int64_t column = x * stride + v * dilation - padding;
                if (row < 0 || row >= size || column < 0 || column >= size) continue;
                const std::int64_t i = o / (outputs / groups) * of_group + j;
                all.push_back({((b * outputs + o) * made + y) * made + x,
                               ((b * inputs + i) * size + row) * size + column,
                               ((o * of_group + j) * kernel + u) * kernel + v});
              }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Met> met_by(const SumLayout& layout, std::int64_t Met::*output, std::int64_t Met::*left,
                        std::int64_t Met::*right) {
  std::vector<Met> all;
  std::vector<SumTerm> found;
  for (std::int64_t element = 0; element < layout.elements(); ++element) {
    layout.terms_of(element, found);
    for (const SumTerm& term : found) {
      if (term.left < 0) continue;
      Met met{};
      met.*output = element;
      met.*left = term.left;
      met.*right = term.right;
      all.push_back(met);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_CASE("convolutions and both their gradients meet what six loops meet", "[orders]") {
  struct Case {
    std::int64_t size, kernel, stride, padding, dilation;
  };
  for (const Case& one :
       {Case{5, 3, 1, 1, 1}, Case{6, 3, 2, 1, 1}, Case{7, 3, 1, 0, 2}, Case{4, 1, 2, 0, 1}, Case{8, 4, 3, 2, 1}}) {
    const auto text = [](std::int64_t number) { return std::to_string(number); };
    const std::string call = "conv2d(f32[2, 3, " + text(one.size) + ", " + text(one.size) + "], f32[4, 3, " +
                             text(one.kernel) + ", " + text(one.kernel) + "], f32[4], [" + text(one.stride) + ", " +
                             text(one.stride) + "], [" + text(one.padding) + ", " + text(one.padding) + "], [" +
                             text(one.dilation) + ", " + text(one.dilation) + "])";
    CAPTURE(call);
    const auto expected = loops(2, 3, one.size, 4, one.kernel, one.stride, one.padding, one.dilation);
    CHECK(met_by(layout_of(call), &Met::output, &Met::image, &Met::weight) == expected);
    CHECK(met_by(layout_of(call, "gradient.0"), &Met::image, &Met::output, &Met::weight) == expected);
    CHECK(met_by(layout_of(call, "gradient.1"), &Met::weight, &Met::output, &Met::image) == expected);
    CHECK(layout_of(call).bias_of(0) == 0);
    CHECK(layout_of(call).bias_of(layout_of(call).elements() - 1) == 3);
    const SumLayout bias = layout_of(call, "gradient.2");
    CHECK((bias.shape == Shape{4} && bias.most_terms() == layout_of(call).elements() / 4));
  }
}

TEST_CASE("in groups a convolution meets the channels of its own group alone", "[orders]") {
  for (const std::int64_t groups : {2, 4}) {
    CAPTURE(groups);
    const std::string call = "conv2d(f32[2, 4, 5, 5], f32[8, " + std::to_string(4 / groups) +
                             ", 3, 3], f32[8], [2, 2], [1, 1], [1, 1], " + std::to_string(groups) + ")";
    const auto expected = loops(2, 4, 5, 8, 3, 2, 1, 1, groups);
    CHECK(met_by(layout_of(call), &Met::output, &Met::image, &Met::weight) == expected);
    CHECK(met_by(layout_of(call, "gradient.0"), &Met::image, &Met::output, &Met::weight) == expected);
    CHECK(met_by(layout_of(call, "gradient.1"), &Met::weight, &Met::output, &Met::image) == expected);
    CHECK(layout_of(call).bias_of(layout_of(call).elements() - 1) == 7);
  }
  CHECK(why_not("conv2d(f32[1, 4, 5, 5], f32[4, 4, 3, 3], none, [1, 1], [0, 0], [1, 1], 2)") ==
        "its groups do not fit its channels");
}

TEST_CASE("a convolution that LibTorch computes by itself has its places elsewhere", "[orders]") {
  const auto expected = loops(2, 3, 5, 4, 3, 1, 1, 1);
  const SumLayout made =
      layout_of("_slow_conv2d_forward(f32[2, 3, 5, 5], f32[4, 3, 3, 3], [3, 3], f32[4], [1, 1], [1, 1])");
  CHECK(met_by(made, &Met::output, &Met::image, &Met::weight) == expected);
  CHECK(made.bias_of(0) == 0);
  const std::string backward =
      "_slow_conv2d_backward(f32[2, 4, 5, 5], f32[2, 3, 5, 5], f32[4, 3, 3, 3], [3, 3], [1, 1], [1, 1], [true, true, "
      "true])";
  CHECK(met_by(layout_of(backward, "output.0"), &Met::image, &Met::output, &Met::weight) == expected);
  CHECK(met_by(layout_of(backward, "output.1"), &Met::weight, &Met::output, &Met::image) == expected);
}

TEST_CASE("the backward call of a convolution has its gradients as outputs", "[orders]") {
  const std::string call =
      "convolution_backward(f32[2, 4, 5, 5], f32[2, 3, 5, 5], f32[4, 3, 3, 3], [4], [1, 1], [1, 1], [1, 1], false, [0, "
      "0], 1, "
      "[true, true, true])";
  const auto expected = loops(2, 3, 5, 4, 3, 1, 1, 1);
  CHECK(met_by(layout_of(call, "output.0"), &Met::image, &Met::output, &Met::weight) == expected);
  CHECK(met_by(layout_of(call, "output.1"), &Met::weight, &Met::output, &Met::image) == expected);
  CHECK(layout_of(call, "output.0").left.tensor == 0);
  CHECK(layout_of(call, "output.0").right->tensor == 2);
  CHECK(layout_of(call, "output.1").right->tensor == 1);
  CHECK(terms(layout_of(call, "output.2"), 1).starts_with("25 26 27"));
  // The first convolution of a model is not asked for the gradient of its image, and has no such output.
  const auto masked = [&](const char* mask) { return call.substr(0, call.rfind('[')) + mask; };
  const SumLayout weight = layout_of(masked("[false, true, true])"), "output.0");
  CHECK(met_by(weight, &Met::weight, &Met::output, &Met::image) == expected);
  CHECK(weight.elements() == 4 * 3 * 3 * 3);
  CHECK(layout_of(masked("[false, true, true])"), "output.1").elements() == 4);
  CHECK(layout_of(masked("[true, false, true])"), "output.1").elements() == 4);
  CHECK(why_not(masked("[false, true, false])"), "output.1") == "nothing is added up in it, as far as is known");
}

TEST_CASE("what is not known to be a sum says why", "[orders]") {
  CHECK(why_not("relu(f32[4])") == "`relu` is not among the operators whose results are known to be sums");
  CHECK(why_not("convolution(f32[1, 4, 5, 5], f32[4, 4, 3, 3], none, [1, 1], [0, 0], [1, 1], true, [0, 0], 1)") ==
        "transposed convolutions are not among the sums that are known");
  CHECK(why_not("addmm(f32[4], f32[2, 3], f32[3, 4], beta=0.5)") ==
        "it is called with lists of tensors or named arguments, whose sums are not known");
  CHECK(why_not("conv2d(f32[3, 5, 5], f32[4, 3, 3, 3])") ==
        "it is called in a way that is not known to be one convolution");
}

}  // namespace
}  // namespace reprobench
