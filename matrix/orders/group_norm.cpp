#include "matrix/orders/group_norm.hpp"

namespace reprobench {
namespace group_norm {  // a unity build has several files in one
namespace {

// In lanes that begin with 0 and meet one after the other; what no vector holds is added behind them.
template <typename Left>
float sum_behind_lanes(std::size_t size, const LaneForm& form, Left&& left, std::span<const float> weight) {
  const auto right = [&](std::size_t i) { return weight.empty() ? 1.0F : weight[i]; };
  const auto lanes = static_cast<std::size_t>(form.lanes);
  const std::size_t whole = size / lanes * lanes;
  std::vector<float> of_lanes(lanes);
  for (std::size_t i = 0; i < whole; ++i) {
    float& lane = of_lanes[i % lanes];
    lane = multiply_add(form.fused, left(i), right(i), lane);
  }
  float sum = sum_of_lanes(of_lanes, true);
  for (std::size_t i = whole; i < size; ++i) sum = multiply_add(form.rest_fused, left(i), right(i), sum);
  return sum;
}

std::string sums_shape(const LaneForm& form) { return "sums of dy x in " + lane_shape(form, true); }

}  // namespace
}  // namespace group_norm

GroupSums sums_of_channel(std::span<const float> x, std::span<const float> dy, const LaneForm& form) {
  const auto of_dy = [&](std::size_t i) { return dy[i]; };
  return {lane_sum_of_products(x.size(), form, of_dy, [&](std::size_t i) { return x[i]; }),
          lane_sum_of_products(x.size(), form, of_dy, [](std::size_t) { return 1.0F; })};
}

GroupSums sums_of_group(std::span<const GroupSums> channels, std::span<const float> weight, const LaneForm& form) {
  const std::size_t size = channels.size();
  return {group_norm::sum_behind_lanes(
              size, form, [&](std::size_t i) { return channels[i].ds; }, weight),
          group_norm::sum_behind_lanes(
              size, form, [&](std::size_t i) { return channels[i].db; }, weight)};
}

void group_input_from(const GroupSums& sums, const NormGroup& group, const GroupInputForm& form, std::span<float> dx) {
  const std::size_t pixels = group.x.size() / group.channels;
  const auto [mean, a] = group.moments;
  const float share = 1.0F / static_cast<float>(group.x.size());
  const float slope = multiply_add(form.slope_fused, sums.db, mean, -sums.ds) * a * a * a * share;
  const float shift = sum_of_products(form.shift, -slope, mean, -(sums.db * a), share);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const float alpha = group.weight.empty() ? a : a * group.weight[i / pixels];
    dx[i] = sum_of_products(form.element, slope, group.x[i], alpha, group.dy[i]) + shift;
  }
}

void group_input_gradient(const NormGroup& group, const GroupInputForm& form, std::span<float> dx) {
  const std::size_t pixels = group.x.size() / group.channels;
  std::vector<GroupSums> channels;
  for (std::size_t i = 0; i < group.channels; ++i) {
    channels.push_back(
        sums_of_channel(group.x.subspan(i * pixels, pixels), group.dy.subspan(i * pixels, pixels), form.channels));
  }
  LaneForm of_group = form.channels;
  of_group.fused = form.group_fused;
  of_group.rest_fused = form.group_rest_fused;
  group_input_from(sums_of_group(channels, group.weight, of_group), group, form, dx);
}

float group_weight_gradient(std::span<const NormChannel> images, const GroupWeightForm& form) {
  float sum = 0;
  for (const NormChannel& image : images) {
    const GroupSums sums = sums_of_channel(image.x, image.dy, form.channels);
    const float inner = multiply_add(form.inner_fused, -sums.db, image.moments.mean, sums.ds);
    sum = multiply_add(form.outer_fused, inner, image.moments.inverse_sigma, sum);
  }
  return sum;
}

std::string group_text(const GroupInputForm& form) {
  return "dgroup_norm x " + lane_text(form.channels, true) + " groups=" + fused_letter(form.group_fused) +
         fused_letter(form.group_rest_fused) + " slope=" + fused_letter(form.slope_fused) +
         " shift=" + fused_letter(form.shift, "rms") + " element=" + fused_letter(form.element, "rxd");
}

std::string group_text(const GroupWeightForm& form) {
  return "dgroup_norm weight " + lane_text(form.channels, true) + " inner=" + fused_letter(form.inner_fused) +
         " outer=" + fused_letter(form.outer_fused);
}

std::string group_shape(const GroupInputForm& form) { return group_norm::sums_shape(form.channels); }

std::string group_shape(const GroupWeightForm& form) {
  return group_norm::sums_shape(form.channels) + "; image by image, " + (form.outer_fused ? "fused" : "not fused");
}

const std::vector<GroupInputForm>& group_input_forms() {
  static const std::vector<GroupInputForm> kForms = [] {
    constexpr FusedProduct kProducts[] = {FusedProduct::first, FusedProduct::second, FusedProduct::none};
    std::vector<GroupInputForm> forms;
    for (const LaneForm& channels : lane_forms(true)) {
      for (const auto& [group, rest] : {std::pair(true, true), {false, false}, {false, true}, {true, false}}) {
        for (const bool slope : {true, false}) {
          for (const FusedProduct shift : kProducts) {
            for (const FusedProduct element : kProducts)
              forms.push_back({channels, group, rest, slope, shift, element});
          }
        }
      }
    }
    return forms;
  }();
  return kForms;
}

const std::vector<GroupWeightForm>& group_weight_forms() {
  static const std::vector<GroupWeightForm> kForms = [] {
    std::vector<GroupWeightForm> forms;
    for (const LaneForm& channels : lane_forms(true)) {
      for (const bool inner : {true, false}) {
        for (const bool outer : {true, false}) forms.push_back({channels, inner, outer});
      }
    }
    return forms;
  }();
  return kForms;
}

}  // namespace reprobench
