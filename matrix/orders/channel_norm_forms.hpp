// The forms that each result of a batch norm can have, and their texts.
#pragma once

#include <string>
#include <vector>

#include "matrix/orders/channel_norm.hpp"

namespace reprobench {

enum class ChannelPart { y, mean, inverse_sigma, dx, of_weight, of_bias };

inline bool is_gradient(ChannelPart part) { return part >= ChannelPart::dx; }

struct ChannelForms {
  ChannelMomentsForm moments;
  ChannelScaleForm scale;
  ChannelGradientForm gradient;
};

// In which way the elements of a channel come. Where neither way can be excluded, both are tried.
enum class ChannelWay { by_channel, by_pixel, either };

// All forms that decide this part's bits; what does not decide them keeps its first value. `given`: mean and 1 / sigma
// are operands, as a backward call has them.
std::vector<ChannelForms> channel_forms(ChannelPart part, ChannelWay way, bool given);

std::string channel_text(ChannelPart part, const ChannelForms& form, bool given);
std::string channel_shape(ChannelPart part, const ChannelForms& form);

}  // namespace reprobench
