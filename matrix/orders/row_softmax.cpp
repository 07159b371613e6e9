#include "matrix/orders/row_softmax.hpp"

#include <algorithm>

namespace reprobench {

float exponentials_of(std::span<const float> x, const SoftmaxForm& form, std::span<float> y) {
  const float largest = *std::max_element(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = exponential(form.functions, x[i] - largest);
  return largest;
}

void divide_by(const SoftmaxSum& of, std::span<const float> x, const SoftmaxForm& form, std::span<float> y) {
  if (!form.is_log) {
    const float inverse = 1.0F / of.sum;
    for (float& one : y.first(x.size())) one = form.is_late ? one / of.sum : one * inverse;
    return;
  }
  const float log_of_sum = logarithm(form.functions, of.sum);
  const float shift = of.largest + log_of_sum;
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = form.is_late ? x[i] - shift : (x[i] - of.largest) - log_of_sum;
}

void softmax_row(std::span<const float> x, const SoftmaxForm& form, std::span<float> y) {
  if (x.empty()) return;
  const float largest = exponentials_of(x, form, y);
  divide_by({largest, lane_sum(y.first(x.size()), form.lanes)}, x, form, y);
}

float gradient_sum(std::span<const float> dy, std::span<const float> y, const SoftmaxGradientForm& form) {
  if (form.is_log) return lane_sum(dy, form.lanes);
  return lane_sum_of_products(
      dy.size(), form.lanes, [&](std::size_t i) { return dy[i]; }, [&](std::size_t i) { return y[i]; });
}

void gradient_from(float sum, std::span<const float> dy, std::span<const float> y, const SoftmaxGradientForm& form,
                   std::span<float> dx) {
  for (std::size_t i = 0; i < dy.size(); ++i) {
    dx[i] = form.is_log ? multiply_add(form.element_fused, -exponential(form.functions, y[i]), sum, dy[i])
                        : (dy[i] - sum) * y[i];
  }
}

void softmax_gradient(std::span<const float> dy, std::span<const float> y, const SoftmaxGradientForm& form,
                      std::span<float> dx) {
  gradient_from(gradient_sum(dy, y, form), dy, y, form, dx);
}

std::string softmax_text(const SoftmaxForm& form) {
  const char* const end =
      form.is_log ? (form.is_late ? " together" : " apart") : (form.is_late ? " divided" : " times");
  return std::string(form.is_log ? "log_softmax" : "softmax") + " exp=" + functions_text(form.functions) + " " +
         lane_text(form.lanes, false) + end;
}

std::string softmax_text(const SoftmaxGradientForm& form) {
  if (!form.is_log) return "dsoftmax " + lane_text(form.lanes, true);
  return "dlog_softmax exp=" + functions_text(form.functions) + " " + lane_text(form.lanes, false) +
         " element=" + fused_letter(form.element_fused);
}

std::string softmax_shape(const SoftmaxForm& form) {
  const char* const end = form.is_log ? (form.is_late ? ", largest and logarithm taken away together" : "")
                                      : (form.is_late ? ", divided" : ", times 1 / sum");
  return functions_shape(form.functions) + " in " + lane_shape(form.lanes, false) + end;
}

std::string softmax_shape(const SoftmaxGradientForm& form) {
  if (!form.is_log) return "dy y in " + lane_shape(form.lanes, true);
  return "dy in " + lane_shape(form.lanes, false) + ", " + functions_shape(form.functions) +
         (form.element_fused ? ", fused" : ", not fused");
}

std::vector<SoftmaxForm> softmax_forms(bool is_log) {
  std::vector<SoftmaxForm> forms;
  for (const Functions functions : kFunctions) {
    for (const LaneForm& lanes : lane_forms(false)) {
      for (const bool is_late : {false, true}) forms.push_back({is_log, functions, lanes, is_late});
    }
  }
  return forms;
}

std::vector<SoftmaxGradientForm> softmax_gradient_forms(bool is_log) {
  std::vector<SoftmaxGradientForm> forms;
  if (!is_log) {
    for (const LaneForm& lanes : lane_forms(true)) forms.push_back({false, Functions::sleef, lanes, false});
    return forms;
  }
  for (const Functions functions : kFunctions) {
    for (const LaneForm& lanes : lane_forms(false)) {
      for (const bool fused : {true, false}) forms.push_back({true, functions, lanes, fused});
    }
  }
  return forms;
}

}  // namespace reprobench
