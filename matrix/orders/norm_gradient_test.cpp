#include "matrix/orders/norm_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "ci/catch.hpp"
#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/order_layout.hpp"
#include "matrix/orders/row_moments.hpp"

namespace reprobench {
namespace {

// Rows of a layer norm, and what is behind them.
struct DrawnRows {
  std::vector<std::vector<float>> x, dy;
  std::vector<float> weight;
  std::vector<NormRow> rows;
};

DrawnRows drawn_rows(std::size_t count, std::size_t width, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](float mean) {
    std::vector<float> values(width);
    for (float& value : values) {
      value = static_cast<float>(std::ldexp(static_cast<double>(random() >> 11U), -52) - 1) + mean;
    }
    return values;
  };
  DrawnRows drawn;
  drawn.weight = draw(1);
  for (std::size_t row = 0; row < count; ++row) {
    drawn.x.push_back(draw(row % 2 == 0 ? 0 : 4));
    drawn.dy.push_back(draw(0));
  }
  for (std::size_t row = 0; row < count; ++row) {
    const RowMoments moments = row_moments(drawn.x[row], {});
    drawn.rows.push_back(
        {drawn.x[row], drawn.dy[row], drawn.weight, moments.mean, inverse_sigma(moments.variance, 1e-5F)});
  }
  return drawn;
}

InputGradientForm gradient_of_2_9_0() {
  return {8, false, false, true, false, true, FusedProduct::first, FusedProduct::first, false};
}

std::vector<float> gradient_of(const NormRow& row, const InputGradientForm& form) {
  std::vector<float> dx(row.x.size());
  input_gradient(row, form, dx);
  return dx;
}

TEST_CASE("every form is within rounding of the gradients in fp64", "[norm]") {
  for (const std::size_t width : {3U, 16U, 257U}) {
    const DrawnRows drawn = drawn_rows(5, width, width);
    for (const NormRow& row : drawn.rows) {
      double ds = 0;
      double db = 0;
      const double n = static_cast<double>(width);
      for (std::size_t i = 0; i < width; ++i) {
        ds += double{row.dy[i]} * row.x[i] * row.weight[i];
        db += double{row.dy[i]} * row.weight[i];
      }
      const double a = row.inverse_sigma;
      const double slope = (db * row.mean - ds) * a * a * a / n;
      const double shift = -slope * row.mean - db * a / n;
      double worst = 0;
      for (const InputGradientForm& form : input_gradient_forms()) {
        const std::vector<float> dx = gradient_of(row, form);
        for (std::size_t i = 0; i < width; ++i) {
          worst = std::max(worst, std::abs(dx[i] - (a * row.dy[i] * row.weight[i] + slope * row.x[i] + shift)));
        }
      }
      CHECK(worst < 1e-4);
    }
    for (const WeightGradientForm& form : weight_gradient_forms()) {
      double exact = 0;
      for (const NormRow& row : drawn.rows) exact += row.dy[1] * (double{row.x[1]} - row.mean) * row.inverse_sigma;
      REQUIRE(weight_gradient(drawn.rows, 1, form) == Approx(exact).margin(1e-5));
    }
  }
}

TEST_CASE("at 699 elements every rounding that is done otherwise shows in the gradients within 1,000 rows", "[norm]") {
  const DrawnRows drawn = drawn_rows(1000, 699, 5);
  std::vector<std::vector<float>> right;
  for (const NormRow& row : drawn.rows) right.push_back(gradient_of(row, gradient_of_2_9_0()));
  std::size_t others = 0;
  for (const InputGradientForm& form : input_gradient_forms()) {
    if (form == gradient_of_2_9_0() || form.lanes != 8) continue;
    ++others;
    CAPTURE(gradient_text(form));
    bool is_seen = false;
    for (std::size_t row = 0; row < right.size() && !is_seen; ++row) {
      is_seen = gradient_of(drawn.rows[row], form) != right[row];
    }
    CHECK(is_seen);
  }
  CHECK(others == 575);
  const auto of_weight = [&](const WeightGradientForm& form) {
    std::vector<float> gradient;
    for (std::size_t i = 0; i < 699; ++i) gradient.push_back(weight_gradient(drawn.rows, i, form));
    return gradient;
  };
  const auto expected = of_weight({2, true, true});
  for (const WeightGradientForm& form : weight_gradient_forms()) {
    if (form.threads > 4) break;
    CAPTURE(gradient_text(form));
    CHECK((of_weight(form) == expected) == (form == WeightGradientForm{2, true, true}));
  }
}

TEST_CASE("no element that is dropped, doubled or scaled by 1 + 2^-20 has the gradient of its row", "[norm]") {
  const DrawnRows drawn = drawn_rows(200, 699, 7);
  for (std::size_t place = 0; place < 699; place += 37) {
    for (const float factor : {0.0F, 2.0F, 1 + 0x1p-20F}) {
      CAPTURE(place, factor);
      CHECK_FALSE(std::ranges::all_of(drawn.rows, [&](NormRow row) {
        const std::vector<float> right = gradient_of(row, gradient_of_2_9_0());
        std::vector<float> dy(row.dy.begin(), row.dy.end());
        dy[place] *= factor;
        row.dy = dy;
        return gradient_of(row, gradient_of_2_9_0()) == right;
      }));
    }
  }
}

TEST_CASE("a text stands for one form of a gradient", "[norm]") {
  std::set<std::string> texts;
  std::size_t forms = 0;
  const auto take = [&](const std::string& text) {
    ++forms;
    texts.insert(text);
    CAPTURE(text);
    CHECK(is_form(text));
    CHECK(is_form("welford lanes=8 mean=fff squares=ffff root; " + text));
  };
  for (const InputGradientForm& form : input_gradient_forms()) take(gradient_text(form));
  for (const WeightGradientForm& form : weight_gradient_forms()) take(gradient_text(form));
  CHECK(texts.size() == forms);
  CHECK(gradient_text(gradient_of_2_9_0()) == "dx lanes=8 sums=rrfr slope=f shift=m element=x");
  CHECK(gradient_text(WeightGradientForm{2, true, false}) == "dweight threads=2 inner=f outer=r");
  CHECK(is_canonical_order("dweight threads=2 inner=f outer=r", 40));
  for (const char* text :
       {"", "dx", "dx lanes=8 sums=rrfr slope=f shift=m element=x ", "dweight threads=33 inner=f outer=f",
        "welford lanes=8 mean=fff; dweight threads=2 inner=f outer=r",
        "dweight threads=2 inner=f outer=r; dweight threads=2 inner=f outer=r"}) {
    CAPTURE(text);
    CHECK_FALSE(is_form(text));
  }
}

TEST_CASE("a gradient's form says for people what is fused", "[norm]") {
  CHECK(gradient_shape(gradient_of_2_9_0()) == "sums of dy x weight in 8 lanes, not fused but in the rest");
  InputGradientForm in_turn;
  in_turn.lanes_in_turn = true;
  CHECK(gradient_shape(in_turn) == "sums of dy x weight in 8 lanes in turn, not fused");
  CHECK(gradient_text(in_turn) == "dx lanes=8 in turn sums=rrrr slope=r shift=r element=r");
  CHECK(gradient_shape(WeightGradientForm{1, true, true}) == "dy (x - mean) / sigma row by row, fused");
  CHECK(gradient_shape(WeightGradientForm{2, true, false}) ==
        "dy (x - mean) / sigma row by row, by 2 threads, not fused");
}

}  // namespace
}  // namespace reprobench
