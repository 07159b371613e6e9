#include "matrix/orders/channel_norm.hpp"

#include <algorithm>
#include <cmath>

namespace reprobench {
namespace {

double elements_of(const ChannelImages& images) {
  std::size_t count = 0;
  for (const auto& image : images) count += image.size();
  return static_cast<double>(count);
}

// Each thread begins with 0 and takes its share of the pixels: `joined(sum, image, pixel)` is the sum with one more.
template <typename Join>
double sum_by_threads(const ChannelImages& images, int threads, Join&& joined) {
  const auto count = static_cast<std::size_t>(elements_of(images));
  const std::size_t share = (count + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
  double all = 0;
  float of_thread = 0;
  std::size_t taken = 0;
  for (std::size_t image = 0; image < images.size(); ++image) {
    for (std::size_t i = 0; i < images[image].size(); ++i) {
      of_thread = joined(of_thread, image, i);
      if (++taken % share != 0 && taken != count) continue;
      all += of_thread;
      of_thread = 0;
    }
  }
  return all;
}

ChannelMoments moments_by_threads(const ChannelImages& x, double epsilon, const ChannelMomentsForm& form) {
  const double count = elements_of(x);
  const auto mean = static_cast<float>(
      sum_by_threads(x, form.threads, [&](float sum, std::size_t image, std::size_t i) { return sum + x[image][i]; }) /
      count);
  const double squares = sum_by_threads(x, form.threads, [&](float sum, std::size_t image, std::size_t i) {
    const float delta = x[image][i] - mean;
    return multiply_add(form.squares_fused, delta, delta, sum);
  });
  const float variance = static_cast<float>(squares) / static_cast<float>(count);
  return {mean, static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + epsilon))};
}

ChannelSums sums_by_threads(const ChannelImages& x, const ChannelImages& dy, const ChannelMoments& moments,
                            const ChannelGradientForm& form) {
  ChannelSums sums;
  const auto count = static_cast<float>(elements_of(x));
  sums.of_dy = static_cast<float>(sum_by_threads(
      dy, form.threads, [&](float sum, std::size_t image, std::size_t i) { return sum + dy[image][i]; }));
  const auto products =
      static_cast<float>(sum_by_threads(dy, form.threads, [&](float sum, std::size_t image, std::size_t i) {
        return multiply_add(form.sums.fused, x[image][i] - moments.mean, dy[image][i], sum);
      }));
  sums.of_weight = products * moments.inverse_sigma;
  sums.slope = products * moments.inverse_sigma * moments.inverse_sigma / count;
  sums.mean_of_dy = sums.of_dy / count;
  return sums;
}

}  // namespace

ChannelMoments channel_moments(const ChannelImages& x, double epsilon, const ChannelMomentsForm& form) {
  if (form.threads > 0) return moments_by_threads(x, epsilon, form);
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
  if (form.threads > 0) return sums_by_threads(x, dy, moments, form);
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
