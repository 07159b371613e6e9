#include "matrix/orders/formed_output.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>

#include "matrix/orders/channel_norm.hpp"
#include "matrix/orders/formed_output_fixture.hpp"
#include "matrix/orders/row_softmax.hpp"
#include "matrix/orders/vector_functions.hpp"

namespace reprobench {
namespace formed_output_test {
namespace {

using namespace test;

const std::string kForwardNorm =
    "native_batch_norm(f32[3, 4, 5, 5], f32[4], f32[4], f32[4] constant, f32[4] constant, true, 0.1, 1e-5)";
const std::string kRowNorm = "native_batch_norm(f32[20, 4], f32[4], f32[4], f32[4], f32[4], true, 0.1, 1e-5)";
const std::string kBackwardNorm =
    "native_batch_norm_backward(f32[3, 4, 5, 5], f32[3, 4, 5, 5], f32[4], f32[4], f32[4], f32[4], f32[4], true, 1e-5, "
    "[true, true, true])";

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

// Where each of them is not the nearest number: LibTorch 2.9.0 gives the bits of `sleef_exp` in a gradient of
// _log_softmax.
TEST_CASE("vector code's exponential and logarithm have the bits that they have in LibTorch", "[formed]") {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  CHECK(bits(sleef_exp(-0x1.8p-3F)) == 0x3F543B40);
  CHECK(bits(sleef_exp(-0x1.38p-2F)) == 0x3F3CC338);
  CHECK(bits(sleef_exp(-0x1.5p-2F)) == 0x3F3863D0);
  CHECK(bits(sleef_log(0x1.1ep+0F)) == 0x3DE2F2A5);
  CHECK(bits(sleef_log(0x1.64p+4F)) == 0x40468CC6);
  CHECK(bits(short_exp(-0x1p-1F)) == 0x3F1B4597);
  CHECK(bits(short_exp(-0x1.42p+4F)) == 0x30F9FF07);
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

// Written out once more, since a step that rounds elsewhere is near the definition too.
TEST_CASE("what follows the sum of a short row rounds after each step", "[formed]") {
  const std::vector<float> x = {0.1F, -0.7F, 1.3F, 0.9F, -2.1F};
  const std::vector<float> y = {0.3F, 0.11F, 0.07F, 0.5F, 0.02F};
  float product_sum = x[0] * y[0];
  float plain_sum = x[0];
  for (std::size_t i = 1; i < 5; ++i) {
    const float product = x[i] * y[i];
    product_sum += product;
    plain_sum += x[i];
  }
  std::vector<float> made(5);
  softmax_gradient(x, y, {}, made);
  for (std::size_t i = 0; i < 5; ++i) CHECK(made[i] == (x[i] - product_sum) * y[i]);
  softmax_gradient(x, y, {true, Functions::sleef, {}, true}, made);
  for (std::size_t i = 0; i < 5; ++i) CHECK(made[i] == std::fma(-sleef_exp(y[i]), plain_sum, x[i]));
  softmax_row(x, {true, Functions::sleef, {}, false}, made);
  float sum = sleef_exp(x[0] - 1.3F);
  for (std::size_t i = 1; i < 5; ++i) sum += sleef_exp(x[i] - 1.3F);
  for (std::size_t i = 0; i < 5; ++i) CHECK(made[i] == (x[i] - 1.3F) - sleef_log(sum));

  const ChannelMoments moments = {0.3F, 1.7F};
  const ChannelImages images = {x};
  const ChannelImages given = {y};
  const ChannelSums sums = channel_sums(images, given, moments, {});
  float of_products = (x[0] - 0.3F) * y[0];
  float of_dy = y[0];
  for (std::size_t i = 1; i < 5; ++i) {
    const float product = (x[i] - 0.3F) * y[i];
    of_products += product;
    of_dy += y[i];
  }
  CHECK(sums.of_dy == of_dy);
  CHECK(sums.of_weight == static_cast<float>(static_cast<double>(of_products) * 1.7F));
  const float slope = of_products * 1.7F * 1.7F / 5;
  const auto mean_of_dy = static_cast<float>(static_cast<double>(of_dy) / 5);
  for (std::size_t i = 0; i < 5; ++i) {
    const float share = (x[i] - 0.3F) * slope;
    CHECK(channel_gradient(x[i], y[i], moments, sums, 0.7F, {}) == (y[i] - mean_of_dy - share) * 1.7F * 0.7F);
    const float alpha = 1.7F * 1.25F;
    const float beta = std::fma(-0.3F, alpha, 0.4F);
    CHECK(channel_scaled(x[i], moments, 1.25F, 0.4F, {true, true}) == std::fma(x[i], alpha, beta));
  }
}

TEST_CASE("what is no softmax over rows, and no batch norm of a training, says so", "[formed]") {
  const char* const kNoSoftmax = "it is called in a way that is not known to be a softmax over rows in fp32";
  for (const char* call :
       {"_softmax(f32[6, 37], 0, false)", "_softmax(bf16[6, 37], 1, false)", "_softmax(f32[0, 37], 1, false)",
        "_softmax(f32[6, 37], 1)", "_softmax(f32[6, 37], dim=1, half_to_float=false)", "_softmax(f32[], -1, false)",
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
  struct Case {
    std::string call, output, text;
  };
  for (const Case& one :
       {Case{"_softmax(f32[60, 37], -1, false)", "output.0", "softmax exp=sleef lanes=16 times"},
        Case{"_log_softmax(f32[200, 37], -1, false)", "output.0", "log_softmax exp=sleef lanes=16 apart"},
        Case{"_softmax_backward_data(f32[200, 37], f32[200, 37], -1, 6)", "output.0", "dsoftmax lanes=16 sums=rf"},
        Case{"_log_softmax_backward_data(f32[60, 37], f32[60, 37], -1, 6)", "output.0",
             "dlog_softmax exp=sleef lanes=16 element=f"},
        Case{kForwardNorm, "output.0", "batch_norm y shift=f element=f"},
        Case{kBackwardNorm, "output.0", "dbatch_norm x lanes=8 sums=rr wide element=f"},
        Case{kBackwardNorm, "output.1", "dbatch_norm weight lanes=8 sums=rr wide"},
        Case{kRowNorm, "output.0", "batch_norm y threads=2 squares=f shift=f element=f"},
        Case{kRowNorm, "output.1", "batch_norm mean threads=2"}}) {
    const auto forms = forms_of(one.call, one.output);
    std::vector<std::size_t> alive(forms->forms());
    std::iota(alive.begin(), alive.end(), std::size_t{0});
    const auto right = std::ranges::find_if(alive, [&](std::size_t form) { return forms->text(form) == one.text; });
    CAPTURE(one.text);
    REQUIRE(right != alive.end());
    const std::size_t is = *right;
    for (std::int64_t round = 0; round < 60 && alive.size() > 1; ++round) {
      const auto tensors = drawn(one.call, *forms, round);
      const std::vector<float> expected = made_by(*forms, is, tensors);
      std::erase_if(alive, [&](std::size_t form) { return made_by(*forms, form, tensors) != expected; });
    }
    for (const std::size_t form : alive) CHECK(forms->text(form) == one.text);
  }
}

}  // namespace
}  // namespace formed_output_test
}  // namespace reprobench
