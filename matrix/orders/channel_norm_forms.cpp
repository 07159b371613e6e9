#include "matrix/orders/channel_norm_forms.hpp"

#include "matrix/orders/formed_families.hpp"

namespace reprobench {
namespace channel_norm_forms {
namespace {

constexpr int kMostThreads = 32;

std::vector<ChannelMomentsForm> moments_forms(ChannelPart part, int threads, bool given) {
  const bool is_open = threads > 0 && !given && part != ChannelPart::mean && part != ChannelPart::of_bias;
  if (!is_open) return {{threads, false}};
  return {{threads, true}, {threads, false}};
}

std::vector<ChannelGradientForm> gradient_forms(ChannelPart part, int threads) {
  std::vector<ChannelGradientForm> forms;
  const bool of_products = part != ChannelPart::of_bias;
  for (const LaneForm& lanes : lane_forms(of_products)) {
    // Threads know neither lanes nor what a vector leaves over.
    if (threads > 0 && (lanes.lanes != 8 || lanes.in_turn || lanes.fused != lanes.rest_fused)) continue;
    for (const bool wide : {true, false}) {
      if (threads > 0 && !wide) continue;
      for (const bool element : {true, false}) {
        if (part == ChannelPart::dx || element) forms.push_back({threads, lanes, wide, element});
      }
    }
  }
  return forms;
}

std::vector<ChannelScaleForm> scale_forms_of(ChannelPart part) {
  if (part != ChannelPart::y) return {{true, true}};
  return {{true, true}, {true, false}, {false, true}, {false, false}};
}

void add_forms(ChannelPart part, int threads, bool given, std::vector<ChannelForms>& forms) {
  for (const ChannelMomentsForm& moments : moments_forms(part, threads, given)) {
    if (is_gradient(part)) {
      for (const ChannelGradientForm& gradient : gradient_forms(part, threads))
        forms.push_back({moments, {}, gradient});
    } else {
      for (const ChannelScaleForm& scale : scale_forms_of(part)) forms.push_back({moments, scale, {}});
    }
  }
}

std::string moments_text(const ChannelMomentsForm& form, bool with_squares) {
  if (form.threads == 0) return "";
  const std::string text = " threads=" + std::to_string(form.threads);
  return with_squares ? text + " squares=" + fused_letter(form.squares_fused) : text;
}

std::string sums_text(ChannelPart part, const ChannelGradientForm& form) {
  const bool of_products = part != ChannelPart::of_bias;
  if (form.threads == 0) return lane_text(form.sums, of_products) + (form.wide ? " wide" : " narrow");
  const std::string text = "threads=" + std::to_string(form.threads);
  return of_products ? text + " sums=" + fused_letter(form.sums.fused) : text;
}

std::string gradient_text(ChannelPart part, const ChannelGradientForm& form) {
  const char* const name = part == ChannelPart::dx ? "x " : part == ChannelPart::of_weight ? "weight " : "bias ";
  const std::string text = std::string("dbatch_norm ") + name + sums_text(part, form);
  return part == ChannelPart::dx ? text + " element=" + fused_letter(form.element_fused) : text;
}

const char* fused_words(bool is_fused) { return is_fused ? ", fused" : ", not fused"; }

std::string threads_shape(int threads) {
  return threads == 1 ? "pixels one after the other"
                      : "pixels one after the other by " + std::to_string(threads) + " threads";
}

std::string moments_shape(ChannelPart part, const ChannelMomentsForm& form) {
  if (form.threads > 0) {
    return threads_shape(form.threads) + (part == ChannelPart::mean ? "" : fused_words(form.squares_fused));
  }
  return part == ChannelPart::mean ? "elements one after the other in fp64"
                                   : "mean and squares one after the other in fp64";
}

std::string gradient_shape_of(ChannelPart part, const ChannelGradientForm& form) {
  const bool of_products = part != ChannelPart::of_bias;
  std::string text = form.threads > 0 ? threads_shape(form.threads) + (of_products ? fused_words(form.sums.fused) : "")
                                      : "images in " + lane_shape(form.sums, of_products) +
                                            (form.wide ? ", then in fp64" : ", then in fp32");
  if (part == ChannelPart::dx) text += form.element_fused ? "; each element fused" : "; no element fused";
  return text;
}

}  // namespace
}  // namespace channel_norm_forms

std::vector<ChannelForms> channel_forms(ChannelPart part, ChannelWay way, bool given) {
  std::vector<ChannelForms> forms;
  const int first = way == ChannelWay::by_pixel ? 1 : 0;
  const int last = way == ChannelWay::by_channel ? 0 : channel_norm_forms::kMostThreads;
  for (int threads = first; threads <= last; ++threads) channel_norm_forms::add_forms(part, threads, given, forms);
  return forms;
}

std::string channel_text(ChannelPart part, const ChannelForms& form, bool given) {
  using namespace channel_norm_forms;
  if (part == ChannelPart::mean) return "batch_norm mean" + moments_text(form.moments, false);
  const std::string moments = moments_text(form.moments, true);
  if (part == ChannelPart::inverse_sigma) return "batch_norm root" + moments;
  if (part == ChannelPart::y) {
    return "batch_norm y" + moments + " shift=" + fused_letter(form.scale.shift_fused) +
           " element=" + fused_letter(form.scale.element_fused);
  }
  const bool is_behind = !given && part != ChannelPart::of_bias;
  const std::string behind = is_behind ? "batch_norm root" + moments + std::string(kThen) : "";
  return behind + channel_norm_forms::gradient_text(part, form.gradient);
}

std::string channel_shape(ChannelPart part, const ChannelForms& form) {
  using namespace channel_norm_forms;
  if (is_gradient(part)) return gradient_shape_of(part, form.gradient);
  const std::string moments = moments_shape(part, form.moments);
  if (part != ChannelPart::y) return moments;
  const auto& [shift, element] = form.scale;
  const std::string behind = form.moments.threads > 0 ? moments + "; " : "";
  if (shift == element) return behind + "x alpha + beta" + fused_words(element);
  return behind + "x alpha + beta" + fused_words(element) + " but in beta";
}

}  // namespace reprobench
