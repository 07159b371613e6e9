#include "matrix/orders/row_moments.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "ci/catch.hpp"
#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/order_layout.hpp"

namespace reprobench {
namespace {

// Of four kinds by turns: of mean 0; of a mean far above the spread, so that squares cancel; rising along the row, so
// that what chunks make where they join counts; and with a few large elements at the end, which belong to no vector.
std::vector<std::vector<float>> random_rows(std::size_t width, std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<float>> rows(static_cast<std::size_t>(count), std::vector<float>(width));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < width; ++i) {
      const float drawn = static_cast<float>(std::ldexp(static_cast<double>(random() >> 11U), -52) - 1);
      const float rising = static_cast<float>(i) / static_cast<float>(width);
      const float mean = row % 4 == 1 ? 64 : row % 4 == 2 ? 64 * rising : 0;
      rows[row][i] = (drawn + mean) * (row % 4 == 3 && i + 3 >= width ? 64 : 1);
    }
  }
  return rows;
}

MomentsForm as_2_9_0() {
  MomentsForm form;
  form.update_mean_fused = form.join_mean_fused = form.lanes_mean_fused = true;
  form.update_squares_fused = form.rest_squares_fused = form.lanes_squares_fused = true;
  form.join_squares = SquaresJoin::fused;
  return form;
}

NormForm normal(const MomentsForm& moments) { return {NormOutput::normalised, moments, ScaleForm{false, false, true}}; }

float last_of(const std::vector<float>& row, const NormForm& form) {
  const RowMoments moments = row_moments(row, form.moments);
  if (form.output == NormOutput::mean) return moments.mean;
  const float inverse = inverse_sigma(moments.variance, 1e-5F);
  if (form.output == NormOutput::inverse_sigma) return inverse;
  return normalised(row.back(), moments.mean, inverse, 1.25F, row.front(), form.scale);
}

TEST_CASE("small rows have the moments that one works out by hand", "[norm]") {
  const std::vector<float> row = {1, 2, 3, 4, 5, 6, 7, 8, 100};
  for (const MomentsForm& mean : mean_forms()) {
    for (const MomentsForm& form : square_forms(mean)) {
      const RowMoments moments = row_moments(std::span(row).first(8), form);
      CHECK(moments.mean == 4.5F);
      CHECK(moments.variance == 5.25F);
      CHECK(row_moments(row, form).mean == Approx(136.0 / 9));
      CHECK(row_moments(std::span(row).first(1), form).variance == 0);
    }
  }
}

TEST_CASE("every form is within rounding of the mean and variance in fp64", "[norm]") {
  for (const std::size_t width : {3U, 64U, 257U, 768U, 5000U}) {
    const auto row = random_rows(width, 1, 1).front();
    double mean = 0;
    for (const float x : row) mean += x / static_cast<double>(width);
    double variance = 0;
    for (const float x : row) variance += (x - mean) * (x - mean) / static_cast<double>(width);
    for (const MomentsForm& of_mean : mean_forms()) {
      for (const MomentsForm& form : square_forms(of_mean)) {
        const RowMoments moments = row_moments(row, form);
        REQUIRE(std::abs(moments.mean - mean) < 1e-6);
        REQUIRE(std::abs(moments.variance - variance) < 1e-6 * variance + 1e-9);
      }
    }
  }
}

TEST_CASE("at 699 elements every single rounding that is done otherwise shows within 1,000 rows", "[norm]") {
  const auto rows = random_rows(699, 2, 1000);  // 87 vectors of 8 are no whole number of chunks, and three are left
  std::vector<NormForm> others;
  for (const NormOutput output : {NormOutput::mean, NormOutput::inverse_sigma, NormOutput::normalised}) {
    std::vector<MomentsForm> moments;
    for (const MomentsForm& mean : mean_forms()) {
      MomentsForm form = as_2_9_0();
      form.lanes = mean.lanes;
      form.update_mean_fused = mean.update_mean_fused;
      form.join_mean_fused = mean.join_mean_fused;
      form.lanes_mean_fused = mean.lanes_mean_fused;
      moments.push_back(form);
    }
    if (output != NormOutput::mean) {
      for (const MomentsForm& squares : square_forms(as_2_9_0())) moments.push_back(squares);
    }
    NormForm right = normal(as_2_9_0());
    right.output = output;
    std::vector<NormForm> forms;
    for (const MomentsForm& form : moments) forms.push_back({output, form, right.scale});
    for (const ScaleForm& scale : scale_forms()) {
      if (output == NormOutput::normalised) forms.push_back({output, as_2_9_0(), scale});
    }
    for (const NormForm& other : forms) {
      if (norm_text(other) == norm_text(right)) continue;
      CAPTURE(norm_text(other));
      CHECK(std::ranges::any_of(rows, [&](const auto& row) { return last_of(row, other) != last_of(row, right); }));
    }
  }
}

TEST_CASE("no element that is dropped, doubled or scaled by 1 + 2^-20 is explained by any form", "[norm]") {
  const auto rows = random_rows(771, 3, 200);
  const NormForm form{NormOutput::inverse_sigma, as_2_9_0(), {}};
  int passed = 0;
  int planted = 0;
  for (std::size_t place = 0; place < 771; place += 37) {
    for (const float factor : {0.0F, 2.0F, 1 + 0x1p-20F}) {
      ++planted;
      passed += std::ranges::all_of(rows, [&](std::vector<float> row) {
        const float right = last_of(row, form);
        row[place] *= factor;
        return last_of(row, form) == right;
      });
    }
  }
  CHECK(planted == 63);
  CHECK(passed == 0);
}

TEST_CASE("a text stands for one form, and every form of an output has its own", "[norm]") {
  std::set<std::string> texts;
  std::size_t forms = 0;
  const auto take = [&](const NormForm& form) {
    const std::string text = norm_text(form);
    ++forms;
    texts.insert(text);
    CAPTURE(text);
    CHECK(is_canonical_order(text, 8));
  };
  for (const MomentsForm& mean : mean_forms()) take({NormOutput::mean, mean, {}});
  for (const MomentsForm& squares : square_forms(mean_forms().front())) {
    take({NormOutput::inverse_sigma, squares, {}});
    for (const ScaleForm& scale : scale_forms()) take({NormOutput::normalised, squares, scale});
  }
  CHECK(texts.size() == forms);
  CHECK(norm_text(normal(as_2_9_0())) == "welford lanes=8 mean=fff squares=ffff centred=f");
  for (const char* text : {"", "welford", "welford lanes=8", "welford lanes=7 mean=fff", "welford lanes=8 mean=fff ",
                           "welford lanes=8 mean=fff squares=ffff", "welford lanes=8 mean=fff squares=ffff centred=",
                           "welford lanes=8 mean=fff squares=ffff root root"}) {
    CAPTURE(text);
    CHECK_FALSE(is_form(text));
  }
}

TEST_CASE("a form says for people where it does not fuse", "[norm]") {
  NormForm form{NormOutput::mean, as_2_9_0(), {}};
  CHECK(norm_shape(form) == "Welford in 8 lanes, means fused");
  form.moments.join_mean_fused = false;
  CHECK(norm_shape(form) == "Welford in 8 lanes, means fused but where chunks join");
  form.output = NormOutput::normalised;
  form.moments.join_squares = SquaresJoin::regrouped_fused;
  form.scale = {false, false, true};
  CHECK(norm_shape(form) ==
        "Welford in 8 lanes, means fused but where chunks join, squares fused and regrouped where chunks join; "
        "(x - mean) / sigma, fused");
  form.output = NormOutput::inverse_sigma;
  form.moments = {};
  CHECK(norm_shape(form) == "Welford in 8 lanes, means not fused, squares not fused");
  form = {NormOutput::normalised, {}, {true, true, false}};
  CHECK(norm_shape(form) ==
        "Welford in 8 lanes, means not fused, squares not fused; x / sigma - mean / sigma, shift fused, bias not");
}

}  // namespace
}  // namespace reprobench
