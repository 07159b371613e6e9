#include "matrix/orders/lane_sum.hpp"

#include <numeric>

namespace reprobench {

float sum_of_lanes(std::span<float> lanes, bool in_turn) {
  if (in_turn) return std::accumulate(lanes.begin() + 1, lanes.end(), lanes.front());
  for (std::size_t width = lanes.size() / 2; width >= 1; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes.front();
}

float lane_sum(std::span<const float> terms, const LaneForm& form) {
  LaneForm plain = form;
  plain.fused = plain.rest_fused = false;
  return lane_sum_of_products(
      terms.size(), plain, [&](std::size_t i) { return terms[i]; }, [](std::size_t) { return 1.0F; });
}

std::string lane_text(const LaneForm& form, bool of_products) {
  std::string text = "lanes=" + std::to_string(form.lanes) + (form.in_turn ? " in turn" : "");
  if (!of_products) return text;
  return text + " sums=" + fused_letter(form.fused) + fused_letter(form.rest_fused);
}

std::string lane_shape(const LaneForm& form, bool of_products) {
  std::string text = std::to_string(form.lanes) + " lanes" + (form.in_turn ? " in turn" : "");
  if (!of_products) return text;
  if (form.fused == form.rest_fused) return text + (form.fused ? ", fused" : ", not fused");
  return text + (form.fused ? ", fused but in the rest" : ", not fused but in the rest");
}

std::vector<LaneForm> lane_forms(bool of_products) {
  std::vector<LaneForm> forms;
  for (const auto& [lanes, in_turn] : {std::pair(8, false), std::pair(16, false), std::pair(8, true)}) {
    if (!of_products) forms.push_back({lanes, in_turn, false, false});
    if (!of_products) continue;
    for (const auto& [fused, rest] : {std::pair(true, true), {false, false}, {false, true}, {true, false}}) {
      forms.push_back({lanes, in_turn, fused, rest});
    }
  }
  return forms;
}

}  // namespace reprobench
