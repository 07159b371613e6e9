#include "matrix/orders/channel_norm.hpp"

#include <cmath>

namespace reprobench {
namespace {

double elements_of(const ChannelImages& images) {
  std::size_t count = 0;
  for (const auto& image : images) count += image.size();
  return static_cast<double>(count);
}

}  // namespace

ChannelMoments channel_moments(const ChannelImages& x, double epsilon) {
  const double count = elements_of(x);
  double sum = 0;
  for (const auto& image : x) {
    for (const float one : image) sum += one;
  }
  const auto mean = static_cast<float>(sum / count);
  double squares = 0;
  for (const auto& image : x) {
    for (const float one : image) squares += (one - mean) * (one - mean);
  }
  const float variance = static_cast<float>(squares) / static_cast<float>(count);
  return {mean, static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + epsilon))};
}

float channel_scaled(float x, const ChannelMoments& moments, float weight, float bias, const ChannelScaleForm& form) {
  const float alpha = moments.inverse_sigma * weight;
  const float beta = multiply_add(form.shift_fused, -moments.mean, alpha, bias);
  return multiply_add(form.element_fused, x, alpha, beta);
}

ChannelSums channel_sums_from(double of_dy, double of_products, double count, const ChannelMoments& moments) {
  ChannelSums sums;
  sums.of_dy = static_cast<float>(of_dy);
  sums.of_weight = static_cast<float>(of_products * moments.inverse_sigma);
  sums.slope =
      static_cast<float>(of_products) * moments.inverse_sigma * moments.inverse_sigma / static_cast<float>(count);
  sums.mean_of_dy = static_cast<float>(of_dy / count);
  return sums;
}

ChannelSums channel_sums(const ChannelImages& x, const ChannelImages& dy, const ChannelMoments& moments,
                         const ChannelGradientForm& form) {
  double sum = 0;
  double products = 0;
  const auto add = [&](double& all, float one) {
    all += one;
    if (!form.wide) all = static_cast<float>(all);
  };
  for (std::size_t image = 0; image < x.size(); ++image) {
    add(sum, lane_sum(dy[image], form.sums));
    add(products, lane_sum_of_products(
                      x[image].size(), form.sums, [&](std::size_t i) { return x[image][i] - moments.mean; },
                      [&](std::size_t i) { return dy[image][i]; }));
  }
  return channel_sums_from(sum, products, elements_of(x), moments);
}

float channel_gradient(float x, float dy, const ChannelMoments& moments, const ChannelSums& sums, float weight,
                       const ChannelGradientForm& form) {
  const float centred = multiply_add(form.element_fused, -(x - moments.mean), sums.slope, dy - sums.mean_of_dy);
  return centred * moments.inverse_sigma * weight;
}

}  // namespace reprobench
