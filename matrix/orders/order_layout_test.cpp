#include "matrix/orders/order_layout.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

const char* const kNorm = "native_layer_norm(f32[4, 6, 32], [32], f32[32], f32[32], 1e-5)";
const char* const kBackwardNorm =
    "native_layer_norm_backward(f32[4, 6, 32], f32[4, 6, 32], [32], f32[4, 6, 1], f32[4, 6, 1], f32[32], f32[32], "
    "[true, true, true])";

std::shared_ptr<const FormedOutput> forms_of(const std::string& call, const std::string& output = "output.0") {
  std::string why_not;
  const auto layout = order_layout(parse_call(call), output, why_not);
  CAPTURE(call, output, why_not);
  REQUIRE(layout);
  REQUIRE(std::holds_alternative<FormedLayout>(*layout));
  return std::get<FormedLayout>(*layout).forms;
}

std::string why_no_norm(const std::string& call, const std::string& output = "output.0") {
  std::string why;
  CHECK_FALSE(order_layout(parse_call(call), output, why));
  return why;
}

// One unit of an output under its last form, with operand i full of i + 1 but for its first element, which is 0.
std::vector<float> made_by(const FormedOutput& output, const std::vector<std::size_t>& sizes, std::int64_t unit) {
  FormedOutput::Tensors tensors;
  for (const std::size_t size : sizes) {
    tensors.emplace_back(size, static_cast<float>(tensors.size() + 1));
    tensors.back().front() = 0;
  }
  std::vector<FormedOutput::Value> made;
  output.compute(output.forms() - 1, tensors, unit, made);
  std::vector<float> values;
  for (const FormedOutput::Value& one : made) values.push_back(one.value);
  return values;
}

TEST_CASE("the outputs of a layer norm are of its rows", "[norm]") {
  const auto y = forms_of(kNorm);
  CHECK(y->elements() == 24 * 32);
  CHECK(y->terms() == 32);
  CHECK(y->units() == 24);
  for (const char* output : {"output.1", "output.2"}) {
    CHECK(forms_of(kNorm, output)->elements() == 24);
    CHECK(forms_of(kNorm, output)->terms() == 32);
  }
  CHECK(forms_of(kNorm, "output.1")->text(0) == "welford lanes=8 mean=fff");
  CHECK(forms_of(kNorm, "output.2")->text(0) == "welford lanes=8 mean=fff squares=ffff root");
  CHECK(forms_of("native_layer_norm(f32[4, 6, 32], [6, 32], none, f32[6, 32], 1e-5)")->terms() == 192);
  // A row of equal numbers lies at its mean, so that only the bias is left.
  CHECK(made_by(*y, {768, 32, 32}, 1) == std::vector<float>({0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
                                                             3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}));
  CHECK(made_by(*forms_of("native_layer_norm(f32[4, 4], [4], none, f32[4], 1e-5)"), {16, 4}, 3) ==
        std::vector<float>{0, 2, 2, 2});
  CHECK(made_by(*forms_of("native_layer_norm(f32[4, 4], [4], f32[4], none, 1e-5)"), {16, 4}, 3) ==
        std::vector<float>{0, 0, 0, 0});
}

TEST_CASE("an output's forms begin with those of the mean, then of 1 / sigma", "[norm]") {
  const auto y = forms_of(kNorm);
  const FormedOutput::Basis* const root = y->basis();
  REQUIRE(root != nullptr);
  CHECK(root->name == "output.2");
  const FormedOutput::Basis* const mean = root->output->basis();
  REQUIRE(mean != nullptr);
  CHECK(mean->name == "output.1");
  CHECK(mean->output->basis() == nullptr);
  CHECK(mean->output->forms() == 24);
  CHECK(root->output->forms() == 24 * 32);
  CHECK(y->forms() == 24 * 32 * 6);
  for (const std::size_t form : {0U, 23U}) {
    for (const std::size_t on : root->output->forms_on(form)) {
      CHECK(root->output->text(on).starts_with(mean->output->text(form) + " squares="));
    }
  }
  for (const std::size_t form : {0U, 767U}) {
    const std::string text = root->output->text(form);
    CHECK(y->forms_on(form).size() == 6);
    for (const std::size_t on : y->forms_on(form)) {
      CHECK(y->text(on).starts_with(text.substr(0, text.find(" root"))));
    }
    const auto gradient = forms_of(kNorm, "gradient.2");
    CHECK(gradient->text(gradient->forms_on(form).front()).starts_with(text + "; dweight threads=1"));
  }
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
  const auto of_x = forms_of(kNorm, "gradient.0");
  CHECK(of_x->elements() == 24 * 32);
  CHECK(of_x->units() == 24);
  CHECK(of_x->given_outputs() == std::vector<std::string>{"output.1", "output.2"});
  CHECK(of_x->basis() != nullptr);
  const auto of_weight = forms_of(kNorm, "gradient.2");
  CHECK(of_weight->elements() == 32);
  CHECK(of_weight->units() == 32);
  CHECK(of_weight->terms() == 24);
  // x, weight, bias, then dy, the mean and 1 / sigma, as the call has made them: 23 times dy (x - mean) / sigma, and
  // one of a row in which mean and 1 / sigma are 0.
  CHECK(made_by(*of_weight, {768, 32, 32, 768, 24, 24}, 5) == std::vector<float>{23 * 4 * (1 - 5) * 6});
  const auto given = forms_of(kBackwardNorm, "output.0");
  CHECK(given->given_outputs().empty());
  CHECK(given->basis() == nullptr);
  CHECK(given->text(0) == "dx lanes=8 sums=ffff slope=f shift=m element=x");
  // dy, x, mean, 1 / sigma, weight
  CHECK(made_by(*forms_of(kBackwardNorm, "output.1"), {768, 768, 24, 24, 32, 32}, 5) ==
        std::vector<float>{23 * 1 * (2 - 3) * 4});
  why_no_norm("native_layer_norm(f32[4, 32], [32], none, f32[32], 1e-5)", "gradient.0");  // other loops
  const std::string masked = std::string(kBackwardNorm).substr(0, std::string(kBackwardNorm).rfind('['));
  CHECK(forms_of(masked + "[false, true, true])", "output.0")->elements() == 32);
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
