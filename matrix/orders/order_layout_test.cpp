#include "matrix/orders/order_layout.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

const char* const kNorm = "native_layer_norm(f32[4, 6, 32], [32], f32[32], f32[32], 1e-5)";
const char* const kBackwardNorm =
    "native_layer_norm_backward(f32[4, 6, 32], f32[4, 6, 32], [32], f32[4, 6, 1], f32[4, 6, 1], f32[32], f32[32], "
    "[true, true, true])";

RowNorm norm_of(const std::string& call, const std::string& output = "output.0") {
  std::string why_not;
  const auto layout = order_layout(parse_call(call), output, why_not);
  CAPTURE(call, output, why_not);
  REQUIRE(layout);
  REQUIRE(std::holds_alternative<RowNorm>(*layout));
  return std::get<RowNorm>(*layout);
}

std::string why_no_norm(const std::string& call, const std::string& output = "output.0") {
  std::string why;
  CHECK_FALSE(order_layout(parse_call(call), output, why));
  return why;
}

TEST_CASE("the outputs of a layer norm are of its rows", "[norm]") {
  const RowNorm norm = norm_of(kNorm);
  CHECK(norm.output == NormOutput::normalised);
  CHECK(norm.rows == 24);
  CHECK(norm.width == 32);
  CHECK(norm.weight == 1);
  CHECK(norm.bias == 2);
  CHECK(norm.epsilon == 1e-5F);
  CHECK(norm.elements() == 24 * 32);
  CHECK(norm_of(kNorm, "output.1").output == NormOutput::mean);
  CHECK(norm_of(kNorm, "output.1").elements() == 24);
  CHECK(norm_of(kNorm, "output.2").output == NormOutput::inverse_sigma);
  CHECK(norm_of("native_layer_norm(f32[4, 6, 32], [6, 32], none, f32[6, 32], 1e-5)").width == 192);
  const RowNorm without_weight = norm_of("native_layer_norm(f32[4, 32], [32], none, f32[32], 1e-5)");
  CHECK_FALSE(without_weight.weight);
  CHECK(without_weight.bias == 1);
}

TEST_CASE("the gradient of a layer norm's bias is a sum over the rows", "[norm]") {
  const auto sum_of = [](const std::string& call, const std::string& output) {
    std::string why_not;
    const auto layout = order_layout(parse_call(call), output, why_not);
    CAPTURE(call, why_not);
    REQUIRE(layout);
    return std::get<SumLayout>(*layout);
  };
  for (const SumLayout& sum : {sum_of(kNorm, "gradient.3"), sum_of(kBackwardNorm, "output.2")}) {
    CHECK(sum.shape == std::vector<std::int64_t>{32});
    CHECK(sum.sums == std::vector<std::int64_t>{24});
    std::vector<SumTerm> terms;
    sum.terms_of(5, terms);
    CHECK(terms[0].left == 5);
    CHECK(terms[23].left == 23 * 32 + 5);
    CHECK_FALSE(sum.right);
  }
  CHECK(sum_of(kNorm, "gradient.3").left.tensor == 3);  // behind the call's own
  CHECK(sum_of(kBackwardNorm, "output.2").left.tensor == 0);
}

TEST_CASE("the gradients of a layer norm are of its rows, with a mean and sigma that are given or computed", "[norm]") {
  const auto gradient_of = [](const std::string& call, const std::string& output) {
    std::string why_not;
    const auto layout = order_layout(parse_call(call), output, why_not);
    CAPTURE(call, output, why_not);
    REQUIRE(layout);
    return std::get<RowNormGradient>(*layout);
  };
  const RowNormGradient of_x = gradient_of(kNorm, "gradient.0");
  CHECK_FALSE(of_x.of_weight);
  CHECK(of_x.elements() == 24 * 32);
  CHECK(of_x.x == 0);
  CHECK(of_x.weight == 1);
  CHECK(of_x.dy == 3);
  CHECK_FALSE(of_x.mean);
  CHECK(of_x.epsilon == 1e-5F);
  CHECK(gradient_of(kNorm, "gradient.2").of_weight);
  CHECK(gradient_of(kNorm, "gradient.2").elements() == 32);
  const RowNormGradient given = gradient_of(kBackwardNorm, "output.0");
  CHECK_FALSE(given.of_weight);
  CHECK(given.dy == 0);
  CHECK(given.x == 1);
  CHECK(given.mean == 2);
  CHECK(given.inverse_sigma == 3);
  CHECK(given.weight == 4);
  CHECK(gradient_of(kBackwardNorm, "output.1").of_weight);
  why_no_norm("native_layer_norm(f32[4, 32], [32], none, f32[32], 1e-5)", "gradient.0");  // other loops
  const std::string masked = std::string(kBackwardNorm).substr(0, std::string(kBackwardNorm).rfind('['));
  CHECK(gradient_of(masked + "[false, true, true])", "output.0").of_weight);
}

TEST_CASE("what is no layer norm of rows in fp32 says so", "[norm]") {
  const char* const kWhy = "it is called in a way that is not known to be a layer norm of rows in fp32";
  for (const char* call :
       {"native_layer_norm(bf16[4, 32], [32], bf16[32], bf16[32], 1e-5)",
        "native_layer_norm(f32[4, 32], [32], bf16[32], none, 1e-5)",
        "native_layer_norm(f32[4, 32], [32], f32[31], none, 1e-5)",
        "native_layer_norm(f32[4, 32], [5], none, none, 1e-5)",
        "native_layer_norm(f32[4, 32], [32], none, none, eps=1e-5)", "native_layer_norm(f32[4, 32], [32], none, none)",
        "native_layer_norm(f32[0, 32], [32], none, none, 1e-5)"}) {
    CAPTURE(call);
    CHECK(why_no_norm(call) == kWhy);
  }
  CHECK(why_no_norm(kNorm, "changed.0") == kWhy);
  for (const char* output : {"output.0", "gradient.3"})
    CHECK_FALSE(why_no_norm("native_layer_norm(f32[4])", output).empty());
  CHECK(why_no_norm("gelu(f32[4, 32])") == "`gelu` is not among the operators whose results are known to be sums");
}

TEST_CASE("a text of either kind is canonical in one way alone", "[norm]") {
  CHECK(is_canonical_order("(0..3)", 4));
  CHECK_FALSE(is_canonical_order("(0..3)", 5));
  CHECK_FALSE(is_canonical_order("(0 1 2 3)", 4));
  CHECK_FALSE(is_canonical_order("(0..", 4));
  CHECK(is_canonical_order("welford lanes=16 mean=fff", 768));
  CHECK_FALSE(is_canonical_order("welford lanes=16 mean=fff", 0));
  CHECK_FALSE(is_canonical_order("welford lanes=16 mean=ff", 768));
}

}  // namespace
}  // namespace reprobench
