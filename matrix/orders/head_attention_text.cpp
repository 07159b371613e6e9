// How a form of an attention is written, for programs and for people.
#include <regex>

#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/head_attention.hpp"

namespace reprobench {
namespace {

std::string piece_shape(std::size_t piece) {
  return piece == 0 ? "in one chain" : "in pieces of " + std::to_string(piece);
}

std::string tiled_text(const TiledForm& form) {
  return std::to_string(form.piece) + " edges=" + (form.edges_in_strands ? "2" : "1");
}

std::string tiled_shape(const TiledForm& form) {
  return piece_shape(form.piece) + (form.edges_in_strands ? " and two strands at edges" : "");
}

std::string scores_text(const ScoreForm& form) {
  return std::string("scores=") + fused_letter(form.fused) + tiled_text(form.products) +
         " scale=" + (form.is_key_scaled ? "keys" : "after");
}

std::string scores_shape(const ScoreForm& form) {
  return "scores " + tiled_shape(form.products) + (form.fused ? ", fused, " : ", not fused, ") +
         (form.is_key_scaled ? "of scaled keys" : "then scaled");
}

const char* scale_text(GradientScale scale) {
  if (scale == GradientScale::after) return "after";
  return scale == GradientScale::fused ? "fused" : "factors";
}

const char* scale_shape(GradientScale scale) {
  if (scale == GradientScale::after) return ", then scaled";
  return scale == GradientScale::fused ? ", then scaled and added, fused" : " of scaled factors";
}

}  // namespace

std::string attention_text(const WeightsForm& form) {
  return "attention " + scores_text(form.scores) + " exp=" + functions_text(form.functions) + " " +
         lane_text(form.lanes, false) + " rest=" + (form.is_rest_in_fp64 ? "fp64" : "lanes") +
         " blocks=" + fused_letter(form.blocks_fused);
}

std::string values_text(const AttentionForm& form) {
  return "values=" + tiled_text(form.values) + (form.is_divided_first ? " divided" : " times");
}

std::string attention_text(const AttentionGradientForm& form, AttentionInput of) {
  std::string text = "dattention " + scores_text(form.scores) + " exp=" + functions_text(form.functions);
  if (of != AttentionInput::value) {
    text += " " + lane_text(form.lanes, true) + " gradient=" + scale_text(form.scale);
  }
  return text + " products=" + tiled_text(form.products);
}

std::string attention_shape(const WeightsForm& form) {
  return scores_shape(form.scores) + "; " + functions_shape(form.functions) + " in " + lane_shape(form.lanes, false) +
         (form.is_rest_in_fp64 ? ", the rest in fp64" : "");
}

std::string values_shape(const AttentionForm& form) {
  return "values " + tiled_shape(form.values) +
         (form.is_divided_first ? " of weights that are divided by their sum" : ", times 1 / sum");
}

std::string attention_shape(const AttentionGradientForm& form, AttentionInput of) {
  std::string shape = "gradient by " + functions_shape(form.functions) + " of " + scores_shape(form.scores);
  if (of != AttentionInput::value) shape += "; dy y in " + lane_shape(form.lanes, true);
  shape += "; products " + tiled_shape(form.products);
  return of == AttentionInput::value ? shape : shape + scale_shape(form.scale);
}

bool is_attention_text(std::string_view text) {
  constexpr std::size_t kLongest = 400;
  if (text.size() > kLongest) return false;
  static const std::regex kText = [] {
    const std::string number = "(0|[1-9][0-9]{0,5})";
    const std::string scores = "scores=[fr]" + number + " edges=[12] scale=(keys|after)";
    const std::string functions = " exp=(sleef|short|libm-[0-9]+(\\.[0-9]+)*)";
    const std::string lanes = " lanes=(8|16|8 in turn)";
    const std::string weights = "attention " + scores + functions + lanes + " rest=(fp64|lanes) blocks=[fr]";
    const std::string values = weights + std::string(kThen) + "values=" + number + " edges=[12] (divided|times)";
    const std::string of_value = "dattention " + scores + functions;
    const std::string of_others = of_value + lanes + " sums=[fr][fr] gradient=(after|fused|factors)";
    const std::string products = " products=" + number + " edges=[12]";
    const std::string then(kThen);
    const std::string gradient =
        "(" + values + then + "(" + of_others + products + then + ")?)?(" + of_value + "|" + of_others + ")" + products;
    return std::regex(weights + "|" + values + "|" + gradient, std::regex::optimize);
  }();
  return std::regex_match(text.begin(), text.end(), kText);
}

}  // namespace reprobench
