// A batch norm of a training, rounding by rounding. x is (images, channels, pixels), row-major.
//
// ATen adds up one channel at a time, image by image, so threads change nothing
// (ATen/native/cpu/batch_norm_kernel.cpp). Mean and variance are plain sums in fp64, one element after the other. The
// backward pass adds up an image in the lanes of a vector and the images in fp64. Releases differ in lanes, and in
// which products are fused with the addition behind.
//
//   batch_norm y shift=f element=f                y = x alpha + beta, with beta = bias - mean alpha
//   dbatch_norm lanes=16 sums=fr wide element=f   the gradient of x
#pragma once

#include <span>
#include <string>
#include <vector>

#include "matrix/orders/lane_sum.hpp"

namespace reprobench {

// One channel: the pixels of each image.
using ChannelImages = std::vector<std::span<const float>>;

// Of a channel; for other norms of a row, or of a group of channels.
struct ChannelMoments {
  float mean = 0;
  float inverse_sigma = 0;
};

// By threads, or 0: channel by channel.
struct ChannelMomentsForm {
  int threads = 0;
  bool squares_fused = false;  // of a thread

  friend bool operator==(const ChannelMomentsForm&, const ChannelMomentsForm&) = default;
};

ChannelMoments channel_moments(const ChannelImages& x, double epsilon, const ChannelMomentsForm& form);

// The roundings of y.
struct ChannelScaleForm {
  bool shift_fused = false;    // bias - mean alpha
  bool element_fused = false;  // x alpha + beta

  friend bool operator==(const ChannelScaleForm&, const ChannelScaleForm&) = default;
};

float channel_scaled(float x, const ChannelMoments& moments, float weight, float bias, const ChannelScaleForm& form);

struct ChannelGradientForm {
  int threads = 0;             // 0: channel by channel
  LaneForm sums;               // of dy, and of (x - mean) dy, in one image; `fused` also where threads add
  bool wide = true;            // images are added in fp64
  bool element_fused = false;  // dy - mean of dy - (x - mean) slope

  friend bool operator==(const ChannelGradientForm&, const ChannelGradientForm&) = default;
};

struct ChannelSums {
  float of_dy = 0;  // the gradient of the bias
  float of_weight = 0;
  float slope = 0;
  float mean_of_dy = 0;
};

// From the whole sums of dy, and of (x - mean) dy, over `count` elements.
ChannelSums channel_sums_from(double of_dy, double of_products, double count, const ChannelMoments& moments);
ChannelSums channel_sums(const ChannelImages& x, const ChannelImages& dy, const ChannelMoments& moments,
                         const ChannelGradientForm& form);

float channel_gradient(float x, float dy, const ChannelMoments& moments, const ChannelSums& sums, float weight,
                       const ChannelGradientForm& form);

}  // namespace reprobench
