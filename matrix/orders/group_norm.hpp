// A group norm of a training, rounding by rounding. x is (images, channels, pixels), row-major; a group is some
// channels of one image, one behind the other, and its mean and variance are those of a row (row_moments.hpp).
//
// y = x alpha + beta for each channel, with alpha = weight / sigma and beta = bias - alpha mean, as a batch norm has
// it. The backward pass adds up ds = sum of dy x and db = sum of dy over each channel of an image, in the lanes of a
// vector (lane_sum.hpp). A group's ds and db are then sums over its channels, times their weights, in lanes that meet
// one after the other. With a = 1 / sigma
//
//   slope = (db mean - ds) a a a / N     shift = -slope mean - db a / N     dx = (a weight) dy + slope x + shift
//   dweight = sum over images of (ds - db mean) a
//
// (ATen/native/cpu/group_norm_kernel.cpp). Releases differ in which products are fused with the addition that follows.
//
//   group_norm y shift=f element=f
//   dgroup_norm x lanes=8 sums=ff groups=ff slope=f shift=m element=x
//   dgroup_norm weight lanes=8 sums=ff inner=f outer=f
#pragma once

#include <span>
#include <string>
#include <vector>

#include "matrix/orders/channel_norm.hpp"
#include "matrix/orders/lane_sum.hpp"
#include "matrix/orders/rounding.hpp"

namespace reprobench {

// Sums over one channel of one image, or of one group over its channels.
struct GroupSums {
  float ds = 0;
  float db = 0;
};

GroupSums sums_of_channel(std::span<const float> x, std::span<const float> dy, const LaneForm& form);
// `weight` has one for each channel; empty: all are 1.
GroupSums sums_of_group(std::span<const GroupSums> channels, std::span<const float> weight, const LaneForm& form);

struct GroupInputForm {
  LaneForm channels;
  bool group_fused = false;  // over channels, in as many lanes
  bool group_rest_fused = false;
  bool slope_fused = false;                   // db mean - ds
  FusedProduct shift = FusedProduct::none;    // slope mean; (db a) / N
  FusedProduct element = FusedProduct::none;  // slope x; (a weight) dy

  friend bool operator==(const GroupInputForm&, const GroupInputForm&) = default;
};

struct GroupWeightForm {
  LaneForm channels;
  bool inner_fused = false;  // ds - db mean
  bool outer_fused = false;  // that times a, to the sum

  friend bool operator==(const GroupWeightForm&, const GroupWeightForm&) = default;
};

// One group of one image: `channels` times as many pixels.
struct NormGroup {
  std::span<const float> x;
  std::span<const float> dy;
  std::span<const float> weight;  // of its channels; empty: 1
  std::size_t channels = 1;
  ChannelMoments moments;
};

// From the sums over the whole group.
void group_input_from(const GroupSums& sums, const NormGroup& group, const GroupInputForm& form, std::span<float> dx);
void group_input_gradient(const NormGroup& group, const GroupInputForm& form, std::span<float> dx);

// A channel of one image, and the moments of its group.
struct NormChannel {
  std::span<const float> x;
  std::span<const float> dy;
  ChannelMoments moments;
};

// The gradient of a channel's weight, over all images.
float group_weight_gradient(std::span<const NormChannel> images, const GroupWeightForm& form);

std::string group_text(const GroupInputForm& form);
std::string group_text(const GroupWeightForm& form);
std::string group_shape(const GroupInputForm& form);
std::string group_shape(const GroupWeightForm& form);

// All forms, in the same order on every stack.
const std::vector<GroupInputForm>& group_input_forms();
const std::vector<GroupWeightForm>& group_weight_forms();

}  // namespace reprobench
