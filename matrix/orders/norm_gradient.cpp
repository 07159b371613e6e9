#include "matrix/orders/norm_gradient.hpp"

#include <algorithm>
#include <numeric>

#include "matrix/orders/lane_sum.hpp"

namespace reprobench {
namespace {

constexpr int kMostThreads = 32;

struct RowSums {
  float ds = 0;
  float db = 0;
};

RowSums row_sums(const NormRow& row, const InputGradientForm& form) {
  const std::size_t size = row.x.size();
  const bool is_short = size < static_cast<std::size_t>(form.lanes);
  const std::size_t lanes = is_short ? 1 : static_cast<std::size_t>(form.lanes);
  const std::size_t whole = is_short ? 1 : size / lanes * lanes;
  std::vector<float> ds(lanes);
  std::vector<float> db(lanes);
  for (std::size_t i = 0; i < size; ++i) {
    const float product = row.dy[i] * row.x[i];
    float& of_x = ds[i % lanes];
    float& of_dy = db[i % lanes];
    if (i < lanes) {
      of_x = product * row.weight[i];
      of_dy = row.dy[i] * row.weight[i];
      continue;
    }
    of_x = multiply_add(i < whole ? form.ds_fused : form.rest_ds_fused, product, row.weight[i], of_x);
    of_dy = multiply_add(i < whole ? form.db_fused : form.rest_db_fused, row.dy[i], row.weight[i], of_dy);
  }
  return {sum_of_lanes(ds, form.lanes_in_turn), sum_of_lanes(db, form.lanes_in_turn)};
}

const char* fused_text(bool is_fused) { return is_fused ? "fused" : "not fused"; }

}  // namespace

void input_gradient(const NormRow& row, const InputGradientForm& form, std::span<float> dx) {
  const auto [ds, db] = row_sums(row, form);
  const float a = row.inverse_sigma;
  const float share = 1.0F / static_cast<float>(row.x.size());
  const float slope = multiply_add(form.slope_fused, db, row.mean, -ds) * a * a * a * share;
  const float shift = sum_of_products(form.shift, -slope, row.mean, -(db * a), share);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    dx[i] = sum_of_products(form.element, slope, row.x[i], a * row.dy[i], row.weight[i]) + shift;
  }
}

float weight_gradient(std::span<const NormRow> rows, std::size_t at, const WeightGradientForm& form) {
  const auto threads = static_cast<std::size_t>(form.threads);
  const std::size_t share = (rows.size() + threads - 1) / threads;
  float all = 0;
  for (std::size_t from = 0; from < rows.size(); from += share) {
    float of_thread = 0;
    for (const NormRow& row : rows.subspan(from, std::min(share, rows.size() - from))) {
      const float a = row.inverse_sigma;
      const float inner = multiply_add(form.inner_fused, a, row.x[at], -a * row.mean);
      of_thread = multiply_add(form.outer_fused, row.dy[at], inner, of_thread);
    }
    all += of_thread;
  }
  return all;
}

std::string gradient_text(const InputGradientForm& form) {
  std::string text = "dx lanes=" + std::to_string(form.lanes) + (form.lanes_in_turn ? " in turn" : "") + " sums=";
  for (const bool is_fused : {form.ds_fused, form.db_fused, form.rest_ds_fused, form.rest_db_fused}) {
    text += fused_letter(is_fused);
  }
  return text + " slope=" + fused_letter(form.slope_fused) + " shift=" + fused_letter(form.shift, "rms") +
         " element=" + fused_letter(form.element, "rxd");
}

std::string gradient_text(const WeightGradientForm& form) {
  return "dweight threads=" + std::to_string(form.threads) + " inner=" + fused_letter(form.inner_fused) +
         " outer=" + fused_letter(form.outer_fused);
}

std::string gradient_shape(const InputGradientForm& form) {
  return "sums of dy x weight in " + std::to_string(form.lanes) +
         (form.lanes_in_turn ? " lanes in turn, " : " lanes, ") + fused_text(form.ds_fused) +
         (form.ds_fused == form.rest_ds_fused ? "" : " but in the rest");
}

std::string gradient_shape(const WeightGradientForm& form) {
  return std::string("dy (x - mean) / sigma row by row, ") +
         (form.threads > 1 ? "by " + std::to_string(form.threads) + " threads, " : "") + fused_text(form.outer_fused);
}

const std::vector<InputGradientForm>& input_gradient_forms() {
  static const std::vector<InputGradientForm> kForms = [] {
    constexpr FusedProduct kProducts[] = {FusedProduct::first, FusedProduct::second, FusedProduct::none};
    std::vector<InputGradientForm> forms;
    for (const int lanes : {8, 16, 4}) {
      for (int sums = 0; sums < 16; ++sums) {
        for (const bool slope : {true, false}) {
          for (const FusedProduct shift : kProducts) {
            for (const FusedProduct element : kProducts) {
              for (const bool in_turn : {false, true}) {
                forms.push_back({lanes, (sums & 8) == 0, (sums & 4) == 0, (sums & 2) == 0, (sums & 1) == 0, slope,
                                 shift, element, in_turn});
              }
            }
          }
        }
      }
    }
    return forms;
  }();
  return kForms;
}

const std::vector<WeightGradientForm>& weight_gradient_forms() {
  static const std::vector<WeightGradientForm> kForms = [] {
    std::vector<WeightGradientForm> forms;
    for (int threads = 1; threads <= kMostThreads; ++threads) {
      for (const bool inner : {true, false}) {
        for (const bool outer : {true, false}) forms.push_back({threads, inner, outer});
      }
    }
    return forms;
  }();
  return kForms;
}

}  // namespace reprobench
