#include "matrix/orders/formed_output.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <span>

#include "ci/catch.hpp"
#include "matrix/orders/channel_norm.hpp"
#include "matrix/orders/order_layout.hpp"
#include "matrix/orders/row_softmax.hpp"
#include "matrix/orders/vector_functions.hpp"

namespace reprobench {
namespace formed_output_test {
namespace {

const std::string kForwardNorm =
    "native_batch_norm(f32[3, 4, 5, 5], f32[4], f32[4], f32[4] constant, f32[4] constant, true, 0.1, 1e-5)";
const std::string kRowNorm = "native_batch_norm(f32[20, 4], f32[4], f32[4], f32[4], f32[4], true, 0.1, 1e-5)";
const std::string kBackwardNorm =
    "native_batch_norm_backward(f32[3, 4, 5, 5], f32[3, 4, 5, 5], f32[4], f32[4], f32[4], f32[4], f32[4], true, 1e-5, "
    "[true, true, true])";

std::shared_ptr<const FormedOutput> forms_of(const std::string& call, const std::string& output = "output.0") {
  std::string why_not;
  const auto layout = order_layout(parse_call(call), output, why_not);
  CAPTURE(call, output, why_not);
  REQUIRE(layout);
  CHECK(why_not.empty());
  return std::get<FormedLayout>(*layout).forms;
}

std::string why_none(const std::string& call, const std::string& output = "output.0") {
  std::string why;
  CHECK_FALSE(order_layout(parse_call(call), output, why));
  return why;
}

// Around 0, of full precision; as many as each of the call's tensors has, with the gradient that is given behind them.
FormedOutput::Tensors drawn(const std::string& call, const FormedOutput& output, std::int64_t round,
                            std::int64_t given = 0) {
  std::mt19937 random(static_cast<std::uint32_t>(round) + 1);
  std::normal_distribution<float> normal;
  FormedOutput::Tensors tensors;
  std::vector<std::int64_t> sizes;
  for (const DeclaredArgument& argument : parse_call(call).arguments) {
    if (const auto* tensor = std::get_if<DeclaredTensor>(&argument.value)) sizes.push_back(product_of(tensor->shape));
  }
  if (given > 0) sizes.push_back(given);
  for (const std::int64_t size : sizes) {
    tensors.emplace_back(static_cast<std::size_t>(size));
    for (float& one : tensors.back()) one = normal(random);
  }
  output.make_kind(round, tensors);
  return tensors;
}

std::vector<float> made_by(const FormedOutput& output, std::size_t form, const FormedOutput::Tensors& tensors) {
  std::vector<float> all(static_cast<std::size_t>(output.elements()), -7);
  for (std::int64_t unit = 0; unit < output.units(); ++unit) {
    std::vector<FormedOutput::Value> values;
    output.compute(form, tensors, unit, values);
    for (const auto& [element, value] : values) all[static_cast<std::size_t>(element)] = value;
  }
  return all;
}

TEST_CASE("vector code's exponential and logarithm are within their units in the last place", "[formed]") {
  CHECK(sleef_exp(0) == 1);
  CHECK(short_exp(0) == 1);
  CHECK(sleef_log(1) == 0);
  CHECK(sleef_exp(-105) == 0);
  CHECK(short_exp(-100) == 0);
  CHECK(std::isnan(sleef_exp(std::nanf(""))));
  for (float x = -80; x < 80; x += 0.37F) {
    CAPTURE(x);
    const double exact = std::exp(static_cast<double>(x));
    CHECK(std::abs(sleef_exp(x) - exact) < 1.01 * 0x1p-23 * exact);
    CHECK(std::abs(short_exp(x) - exact) < 20 * 0x1p-23 * exact);
    const auto of_exact = static_cast<float>(exact);
    const double log = std::log(static_cast<double>(of_exact));
    CHECK(std::abs(sleef_log(of_exact) - log) < 1.01 * 0x1p-23 * std::abs(log) + 1e-12);
  }
}

TEST_CASE("a softmax and its gradient are those of its definition, in every form", "[formed]") {
  const std::string call = "_softmax(f32[6, 37], -1, false)";
  const auto y = forms_of(call);
  CHECK(y->elements() == 6 * 37);
  CHECK(y->units() == 6);
  CHECK(y->terms() == 37);
  const auto log = forms_of("_log_softmax(f32[6, 37], 1, false)");
  const auto tensors = drawn(call, *y, 0);
  for (std::size_t form = 0; form < y->forms(); ++form) {
    const std::vector<float> rows = made_by(*y, form, tensors);
    const std::vector<float> logs = made_by(*log, form, tensors);
    for (std::size_t row = 0; row < 6; ++row) {
      CHECK(std::accumulate(rows.begin() + 37 * row, rows.begin() + 37 * (row + 1), 0.0) == Approx(1));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(std::exp(logs[i]) == Approx(rows[i]).epsilon(1e-5));
  }
  const std::string backward = "_softmax_backward_data(f32[2, 3], f32[2, 3], 1, 6)";
  const auto dx = forms_of(backward);
  const FormedOutput::Tensors given = {{1, 2, 3, 0, 0, 1}, {0.5, 0.25, 0.25, 1, 0, 2}};
  CHECK(made_by(*dx, 0, given) == std::vector<float>{-0.375, 0.0625, 0.3125, -2, 0, -2});
  const auto of_log = forms_of("_log_softmax_backward_data(f32[1, 3], f32[1, 3], 1, 6)");
  CHECK(made_by(*of_log, 0, {{1, 2, 3}, {0, 0, 0}}) == std::vector<float>{-5, -4, -3});
}

TEST_CASE("a batch norm and its gradients are those of their definition", "[formed]") {
  const auto y = forms_of(kForwardNorm);
  const auto tensors = drawn(kForwardNorm, *y, 0);
  const std::vector<float> mean = made_by(*forms_of(kForwardNorm, "output.1"), 0, tensors);
  const std::vector<float> inverse = made_by(*forms_of(kForwardNorm, "output.2"), 0, tensors);
  const std::vector<float> scaled = made_by(*y, 0, tensors);
  CHECK(y->elements() == 300);
  CHECK(y->terms() == 75);
  for (std::size_t i = 0; i < 300; ++i) {
    const std::size_t c = i / 25 % 4;
    CHECK(scaled[i] == Approx((tensors[0][i] - mean[c]) * inverse[c] * tensors[1][c] + tensors[2][c]).margin(1e-5));
  }
  // dx has no part along 1, and none along x - mean; so its sums vanish.
  const auto dx = forms_of(kForwardNorm, "gradient.0");
  const auto given = drawn(kForwardNorm, *dx, 0, 300);
  const std::vector<float> moments = made_by(*forms_of(kForwardNorm, "output.1"), 0, given);
  for (std::size_t form = 0; form < dx->forms(); ++form) {
    const std::vector<float> made = made_by(*dx, form, given);
    for (std::size_t c = 0; c < 4; ++c) {
      double sum = 0;
      double along = 0;
      for (std::size_t i = 0; i < 300; ++i) {
        if (i / 25 % 4 != c) continue;
        sum += made[i];
        along += made[i] * (given[0][i] - moments[c]);
      }
      CHECK(std::abs(sum) < 1e-4);
      CHECK(std::abs(along) < 1e-4);
    }
  }
  const std::string masked = kBackwardNorm.substr(0, kBackwardNorm.rfind('[')) + "[false, true, true])";
  CHECK(forms_of(masked, "output.0")->elements() == 4);  // the weight's
  CHECK(forms_of(masked, "output.1")->text(0) == "dbatch_norm bias lanes=8 wide");
  CHECK(forms_of(kForwardNorm, "gradient.2")->text(0) == "dbatch_norm bias lanes=8 wide");
}

TEST_CASE("what is no softmax over rows, and no batch norm of a training, says so", "[formed]") {
  const char* const kNoSoftmax = "it is called in a way that is not known to be a softmax over rows in fp32";
  for (const char* call :
       {"_softmax(f32[6, 37], 0, false)", "_softmax(bf16[6, 37], 1, false)", "_softmax(f32[0, 37], 1, false)",
        "_softmax(f32[6, 37], 1)", "_softmax(f32[6, 37], dim=1, half_to_float=false)",
        "_softmax_backward_data(f32[2, 3], f32[2, 4], 1, 6)", "_softmax_backward_data(f32[2, 3], bf16[2, 3], 1, 6)"}) {
    CAPTURE(call);
    CHECK(why_none(call) == kNoSoftmax);
  }
  CHECK(why_none("_softmax_backward_data(f32[2, 3], f32[2, 3], 1, 6)", "gradient.0") == kNoSoftmax);
  const char* const kNoNorm = "it is called in a way that is not known to be a batch norm of a training in fp32";
  for (const char* call : {"native_batch_norm(f32[3, 4, 5, 5], f32[4], f32[4], f32[4], f32[4], false, 0.1, 1e-5)",
                           "native_batch_norm(f32[4], f32[4], f32[4], f32[4], f32[4], true, 0.1, 1e-5)",
                           "native_batch_norm(f32[3, 4, 5], f32[5], f32[4], f32[4], f32[4], true, 0.1, 1e-5)",
                           "native_batch_norm(bf16[3, 4, 5], f32[4], f32[4], f32[4], f32[4], true, 0.1, 1e-5)"}) {
    CAPTURE(call);
    CHECK(why_none(call) == kNoNorm);
  }
  CHECK(why_none(kBackwardNorm, "output.3") == kNoNorm);
}

TEST_CASE("a text of a form is one of its operator's, whatever the release of the C library", "[formed]") {
  for (const auto& [call, output] : {std::pair<std::string, std::string>("_softmax(f32[6, 37], -1, false)", "output.0"),
                                     {"_softmax(f32[6, 37], -1, false)", "gradient.0"},
                                     {"_log_softmax(f32[6, 37], -1, false)", "gradient.0"},
                                     {"_log_softmax_backward_data(f32[2, 3], f32[2, 3], 1, 6)", "output.0"},
                                     {kForwardNorm, "output.0"},
                                     {kForwardNorm, "output.2"},
                                     {kRowNorm, "output.0"},
                                     {kRowNorm, "gradient.0"},
                                     {kForwardNorm, "gradient.0"},
                                     {kBackwardNorm, "output.0"},
                                     {kBackwardNorm, "output.1"}}) {
    const auto forms = forms_of(call, output);
    std::set<std::string> texts;
    for (std::size_t form = 0; form < forms->forms(); ++form) {
      CAPTURE(forms->text(form));
      texts.insert(forms->text(form));
      CHECK(is_canonical_order(forms->text(form), forms->terms()));
      CHECK_FALSE(forms->shape(form).empty());
    }
    CHECK(texts.size() == forms->forms());
  }
  CHECK(is_form("softmax exp=libm-2.99 lanes=8 in turn times"));
  for (const char* text : {"softmax exp=libm- lanes=8 in turn times", "softmax exp=libm-2.36", "softmax",
                           "softmax exp=sleef lanes=16 times ", "batch_norm root; dbatch_norm", ""}) {
    CAPTURE(text);
    CHECK_FALSE(is_form(text));
  }
}

// One form of each operator, as 2.9.0 has it under AVX2 or AVX-512, told apart from all others by random inputs.
TEST_CASE("another form gives other bits", "[formed]") {
  for (const auto& [call, output, text] :
       {std::tuple<std::string, std::string, std::string>("_softmax(f32[60, 37], -1, false)", "output.0",
                                                          "softmax exp=sleef lanes=16 times"),
        {"_log_softmax(f32[200, 37], -1, false)", "output.0", "log_softmax exp=sleef lanes=16 apart"},
        {"_softmax_backward_data(f32[200, 37], f32[200, 37], -1, 6)", "output.0", "dsoftmax lanes=16 sums=rf"},
        {"_log_softmax_backward_data(f32[60, 37], f32[60, 37], -1, 6)", "output.0",
         "dlog_softmax exp=sleef lanes=16 element=f"},
        {kForwardNorm, "output.0", "batch_norm y shift=f element=f"},
        {kBackwardNorm, "output.0", "dbatch_norm x lanes=8 sums=rr wide element=f"},
        {kBackwardNorm, "output.1", "dbatch_norm weight lanes=8 sums=rr wide"},
        {kRowNorm, "output.0", "batch_norm y threads=2 squares=f shift=f element=f"},
        {kRowNorm, "output.1", "batch_norm mean threads=2"}}) {
    const auto forms = forms_of(call, output);
    std::vector<std::size_t> alive(forms->forms());
    std::iota(alive.begin(), alive.end(), std::size_t{0});
    const auto right = std::ranges::find_if(alive, [&](std::size_t form) { return forms->text(form) == text; });
    CAPTURE(text);
    REQUIRE(right != alive.end());
    const std::size_t is = *right;
    for (std::int64_t round = 0; round < 60 && alive.size() > 1; ++round) {
      const auto tensors = drawn(call, *forms, round);
      const std::vector<float> expected = made_by(*forms, is, tensors);
      std::erase_if(alive, [&](std::size_t form) { return made_by(*forms, form, tensors) != expected; });
    }
    for (const std::size_t form : alive) CHECK(forms->text(form) == text);
  }
}

}  // namespace
}  // namespace formed_output_test
}  // namespace reprobench
