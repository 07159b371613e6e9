#include "matrix/orders/group_norm.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "ci/catch.hpp"
#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/order_layout.hpp"
#include "matrix/orders/row_moments.hpp"

namespace reprobench {
namespace group_norm_test {
namespace {

// With 8 lanes a channel has two vectors and a rest of 5 pixels, a group two and a rest of 3 channels.
constexpr std::size_t kPixels = 21;
constexpr std::size_t kChannels = 19;

struct DrawnGroup {
  std::vector<float> x, dy, weight;
  ChannelMoments moments;

  NormGroup group() const { return {x, dy, weight, kChannels, moments}; }
};

DrawnGroup drawn_group(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](std::size_t count, float mean) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = static_cast<float>(std::ldexp(static_cast<double>(random() >> 11U), -52) - 1) + mean;
    }
    return values;
  };
  DrawnGroup drawn{
      draw(kChannels * kPixels, seed % 2 == 0 ? 0 : 4), draw(kChannels * kPixels, 0), draw(kChannels, 1), {}};
  const RowMoments moments = row_moments(drawn.x, {});
  drawn.moments = {moments.mean, inverse_sigma(moments.variance, 1e-5F)};
  return drawn;
}

const std::vector<DrawnGroup>& drawn_groups() {
  static const std::vector<DrawnGroup> kDrawn = [] {
    std::vector<DrawnGroup> drawn;
    for (std::uint64_t seed = 0; seed < 300; ++seed) drawn.push_back(drawn_group(seed));
    return drawn;
  }();
  return kDrawn;
}

const GroupInputForm kInput = {{8, false, true, true}, true, true, true, FusedProduct::first, FusedProduct::first};
const GroupWeightForm kWeight = {{8, false, true, false}, true, true};

std::vector<float> gradient_of(const NormGroup& group, const GroupInputForm& form) {
  std::vector<float> dx(group.x.size());
  group_input_gradient(group, form, dx);
  return dx;
}

// The first channel of three groups as if they were images of one channel.
float weight_gradient_from(std::size_t first, const GroupWeightForm& form) {
  std::vector<NormChannel> images;
  for (std::size_t i = first; i < first + 3; ++i) {
    const DrawnGroup& drawn = drawn_groups()[i];
    images.push_back({std::span(drawn.x).first(kPixels), std::span(drawn.dy).first(kPixels), drawn.moments});
  }
  return group_weight_gradient(images, form);
}

TEST_CASE("every form is within rounding of a group norm's gradients in fp64", "[norm]") {
  for (const std::size_t at : {0U, 1U}) {
    const DrawnGroup& drawn = drawn_groups()[at];
    const double n = kPixels * kChannels;
    double ds = 0;
    double db = 0;
    for (std::size_t i = 0; i < drawn.x.size(); ++i) {
      ds += double{drawn.dy[i]} * drawn.x[i] * drawn.weight[i / kPixels];
      db += double{drawn.dy[i]} * drawn.weight[i / kPixels];
    }
    const double a = drawn.moments.inverse_sigma;
    const double slope = (db * drawn.moments.mean - ds) * a * a * a / n;
    const double shift = -slope * drawn.moments.mean - db * a / n;
    double worst = 0;
    for (const GroupInputForm& form : group_input_forms()) {
      const std::vector<float> dx = gradient_of(drawn.group(), form);
      for (std::size_t i = 0; i < dx.size(); ++i) {
        const double exact = a * drawn.weight[i / kPixels] * drawn.dy[i] + slope * drawn.x[i] + shift;
        worst = std::max(worst, std::abs(dx[i] - exact));
      }
    }
    CHECK(worst < 1e-5);
  }
  double exact = 0;
  for (std::size_t image = 0; image < 3; ++image) {
    const DrawnGroup& drawn = drawn_groups()[image];
    for (std::size_t i = 0; i < kPixels; ++i) {
      exact += drawn.dy[i] * (double{drawn.x[i]} - drawn.moments.mean) * drawn.moments.inverse_sigma;
    }
  }
  for (const GroupWeightForm& form : group_weight_forms()) {
    REQUIRE(weight_gradient_from(0, form) == Approx(exact).margin(1e-4));
  }
}

TEST_CASE("without weights a group's gradient is that of weights of one", "[norm]") {
  DrawnGroup drawn = drawn_groups()[3];
  drawn.weight.clear();
  const std::vector<float> without = gradient_of(drawn.group(), kInput);
  drawn.weight.assign(kChannels, 1);
  CHECK(without == gradient_of(drawn.group(), kInput));
}

TEST_CASE("every rounding of a group norm that is done otherwise shows within 300 groups", "[norm]") {
  std::vector<std::vector<float>> right;
  for (const DrawnGroup& drawn : drawn_groups()) right.push_back(gradient_of(drawn.group(), kInput));
  std::size_t others = 0;
  for (const GroupInputForm& form : group_input_forms()) {
    if (form == kInput) continue;
    ++others;
    CAPTURE(group_text(form));
    bool is_seen = false;
    for (std::size_t i = 0; i < right.size() && !is_seen; ++i) {
      is_seen = gradient_of(drawn_groups()[i].group(), form) != right[i];
    }
    CHECK(is_seen);
  }
  CHECK(others == 863);
  for (const GroupWeightForm& form : group_weight_forms()) {
    CAPTURE(group_text(form));
    bool is_seen = false;
    for (std::size_t first = 0; first < 290 && !is_seen; ++first) {
      is_seen = weight_gradient_from(first, form) != weight_gradient_from(first, kWeight);
    }
    CHECK(is_seen == !(form == kWeight));
  }
}

TEST_CASE("no gradient dropped, doubled or scaled by 1 + 2^-20 goes unnoticed in its group", "[norm]") {
  for (std::size_t place = 0; place < kPixels * kChannels; place += 23) {
    for (const float factor : {0.0F, 2.0F, 1 + 0x1p-20F}) {
      CAPTURE(place, factor);
      CHECK(std::ranges::any_of(drawn_groups(), [&](DrawnGroup drawn) {
        std::vector<float> right = gradient_of(drawn.group(), kInput);
        drawn.dy[place] *= factor;
        std::vector<float> other = gradient_of(drawn.group(), kInput);
        right[place] = other[place] = 0;  // the element itself says nothing of the sums
        return other != right;
      }));
    }
  }
}

TEST_CASE("a text stands for one form of a group norm", "[norm]") {
  std::set<std::string> texts;
  for (const GroupInputForm& form : group_input_forms()) texts.insert(group_text(form));
  for (const GroupWeightForm& form : group_weight_forms()) texts.insert(group_text(form));
  CHECK(texts.size() == group_input_forms().size() + group_weight_forms().size());
  CHECK(texts.contains("dgroup_norm x lanes=8 sums=ff groups=ff slope=f shift=m element=x"));
  CHECK(texts.contains("dgroup_norm weight lanes=16 sums=rf inner=f outer=r"));
  const std::string root = "welford lanes=8 mean=fff squares=ffff root; ";
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(is_form(text));
    CHECK(is_form(root + text));
  }
  CHECK(is_form(root + "group_norm y shift=f element=r"));
  CHECK(is_form(root + "group_norm y centred"));
  for (const char* text : {"group_norm y shift=f element=r", "group_norm y centred",
                           "welford lanes=8 mean=fff; group_norm y centred", "dgroup_norm x lanes=8 sums=ff"}) {
    CAPTURE(text);
    CHECK_FALSE(is_form(text));
  }
  CHECK(group_shape(kInput) == "sums of dy x in 8 lanes, fused");
}

const char* const kForward = "native_group_norm(f32[2, 6, 4], f32[6], f32[6], 2, 6, 4, 3, 1e-5)";
const char* const kBackward =
    "native_group_norm_backward(f32[2, 6, 4], f32[2, 6, 4], f32[2, 3], f32[2, 3], f32[6], 2, 6, 4, 3, "
    "[true, true, true])";

std::shared_ptr<const FormedOutput> forms_of(const std::string& call, const std::string& output) {
  std::string why_not;
  auto forms = formed_output(parse_call(call), output, why_not);
  CAPTURE(call, output, why_not);
  REQUIRE(forms);
  return forms;
}

std::string why_none(const std::string& call, const std::string& output = "output.0") {
  std::string why_not;
  CHECK_FALSE(order_layout(parse_call(call), output, why_not));
  return why_not;
}

// What the last form makes of one unit.
std::vector<FormedOutput::Value> made_by(const FormedOutput& output, const FormedOutput::Tensors& tensors,
                                         std::int64_t unit) {
  std::vector<FormedOutput::Value> made;
  output.compute(output.forms() - 1, tensors, unit, made);
  return made;
}

TEST_CASE("the outputs of a group norm are of two channels of one image", "[norm]") {
  const auto y = forms_of(kForward, "output.0");
  CHECK(y->elements() == 48);
  CHECK(y->units() == 6);
  CHECK(y->terms() == 8);
  CHECK(forms_of(kForward, "output.1")->elements() == 6);
  CHECK(forms_of(kForward, "output.2")->terms() == 8);
  // Group 1 of image 1 has channels 2 and 3, each half 1 and half 3: mean 2, sigma 1.
  std::vector<float> x(48, 0);
  for (std::size_t i = 32; i < 40; ++i) x[i] = i % 2 == 0 ? 1 : 3;
  const auto made = made_by(*y, {x, {1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}}, 4);
  REQUIRE(made.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    const float sign = i % 2 == 0 ? -1 : 1;
    CHECK(made[i].element == static_cast<std::int64_t>(32 + i));
    CHECK(made[i].value == Approx(i < 4 ? 30 + sign * 3 : 40 + sign * 4).epsilon(1e-4));
  }
  const auto plain = forms_of("native_group_norm(f32[2, 6, 4], none, none, 2, 6, 4, 3, 1e-5)", "output.0");
  CHECK(plain->forms() == 768);
  CHECK(made_by(*plain, {x}, 4)[1].value == Approx(1).epsilon(1e-4));
  const auto without_weight = forms_of("native_group_norm(f32[2, 6, 4], none, f32[6], 2, 6, 4, 3, 1e-5)", "output.0");
  CHECK(made_by(*without_weight, {x, {10, 20, 30, 40, 50, 60}}, 4)[1].value == Approx(31).epsilon(1e-4));
}

TEST_CASE("the gradients of a group norm take each group's own moments, given or computed", "[norm]") {
  const std::vector<float> ones(48, 1);
  std::vector<float> x(48, 0);
  for (std::size_t i = 0; i < 48; ++i) x[i] = static_cast<float>(i / 4);  // image 0: channels 0 to 5, image 1: 6 to 11
  const std::vector<float> mean = {0, 1, 2, 3, 4, 5};
  const std::vector<float> inverse = {1, 2, 4, 8, 16, 32};
  // Channel 3 is in group 1: sums of dy (x - mean) / sigma over four pixels of both images.
  const float of_channel_3 = 4 * (3 - 1) * 2 + 4 * (9 - 4) * 16;
  const auto given = forms_of(kBackward, "output.1");
  CHECK(given->units() == 6);
  CHECK(given->elements() == 6);
  CHECK(given->terms() == 8);
  CHECK(given->given_outputs().empty());
  CHECK(made_by(*given, {ones, x, mean, inverse, ones}, 3)[0].value == of_channel_3);
  const auto computed = forms_of(kForward, "gradient.1");
  CHECK(computed->given_outputs() == std::vector<std::string>{"output.1", "output.2"});
  CHECK(made_by(*computed, {x, ones, ones, ones, mean, inverse}, 3)[0].value == of_channel_3);
  // Of x: with ds = 4 (2 + 3), db = 8, mean 1 and a = 2 in group 1 of image 0.
  const float slope = (8 * 1 - 20) * 8 / 8.0F;
  const float shift = -slope * 1 - 8 * 2 / 8.0F;
  const auto made = made_by(*forms_of(kBackward, "output.0"), {ones, x, mean, inverse, ones}, 1);
  REQUIRE(made.size() == 8);
  CHECK(made[0].element == 8);
  CHECK(made[0].value == 2 + slope * 2 + shift);
  CHECK(made[7].value == 2 + slope * 3 + shift);
}

TEST_CASE("the gradient of a group norm's bias is a sum over images and pixels", "[norm]") {
  for (const auto& [call, output, tensor] :
       {std::tuple(kForward, "gradient.2", 3), std::tuple(kBackward, "output.2", 0)}) {
    std::string why_not;
    const auto layout = order_layout(parse_call(call), output, why_not);
    REQUIRE(layout);
    const auto& sum = std::get<SumLayout>(*layout);
    CHECK(sum.shape == std::vector<std::int64_t>{6});
    CHECK(sum.left.tensor == tensor);
    std::vector<SumTerm> terms;
    sum.terms_of(5, terms);
    REQUIRE(terms.size() == 8);
    CHECK(terms[0].left == 20);
    CHECK(terms[7].left == 47);
  }
}

TEST_CASE("a group norm that is made in another way says so", "[norm]") {
  const char* const kWhy = "it is called in a way that is not known to be a group norm of row-major images in fp32";
  for (const char* call : {"native_group_norm(bf16[2, 6, 4], f32[6], f32[6], 2, 6, 4, 3, 1e-5)",
                           "native_group_norm(f32[2, 6, 4], f32[5], f32[6], 2, 6, 4, 3, 1e-5)",
                           "native_group_norm(f32[2, 6, 4], f32[6], bf16[6], 2, 6, 4, 3, 1e-5)",
                           "native_group_norm(f32[2, 6, 4] strides [24, 1, 6], f32[6], f32[6], 2, 6, 4, 3, 1e-5)",
                           "native_group_norm(f32[2, 6, 4], f32[6], f32[6], 2, 6, 4, 4, 1e-5)",
                           "native_group_norm(f32[2, 6, 4], f32[6], f32[6], 2, 6, 5, 3, 1e-5)",
                           "native_group_norm(f32[2, 6, 4], f32[6], f32[6], 2, 6, 4, 0, 1e-5)",
                           "native_group_norm(f32[2, 6, 4], f32[6], f32[6], 2, 6, 4, 3)",
                           "native_group_norm(f32[2, 6, 4], f32[6], f32[6])"}) {
    CAPTURE(call);
    CHECK(why_none(call) == kWhy);
  }
  CHECK(why_none(kForward, "changed.0") == kWhy);
  CHECK(why_none(kBackward, "output.3") == kWhy);
  CHECK(why_none("native_group_norm_backward(f32[2, 6, 4], f32[2, 6, 4], f32[2, 2], f32[2, 3], f32[6], 2, 6, 4, 3, "
                 "[true, true, true])") == kWhy);
  const std::string masked = std::string(kBackward).substr(0, std::string(kBackward).rfind('['));
  CHECK(forms_of(masked + "[false, true, true])", "output.0")->elements() == 6);  // the gradient of the weight
}

}  // namespace
}  // namespace group_norm_test
}  // namespace reprobench
