// The operators whose outputs have forms, one family a file. Only formed_output.cpp knows them all.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {

struct FormedFamily {
  bool (*has)(std::string_view operator_name);
  std::shared_ptr<const FormedOutput> (*output)(const DeclaredCall& call, std::string_view output,
                                                std::string& why_not);
  bool (*has_text)(std::string_view text);  // whether one of its forms has this text
  // An output that is a plain sum, such as the gradient of a bias. Null: there is none.
  std::optional<SumLayout> (*sum)(const DeclaredCall& call, std::string_view output) = nullptr;
};

extern const FormedFamily kSoftmaxFamily;
extern const FormedFamily kChannelNormFamily;
extern const FormedFamily kLayerNormFamily;
extern const FormedFamily kGroupNormFamily;
extern const FormedFamily kAttentionFamily;

// The family of an operator; null: its outputs have no forms.
const FormedFamily* formed_family(std::string_view operator_name);

// `count` forms, as FormedOutput::forms_on() gives them.
std::vector<std::size_t> forms_from(std::size_t first, std::size_t count);

// Behind what another output's text begins with, as in "batch_norm root; dbatch_norm ...".
inline constexpr std::string_view kThen = "; ";

}  // namespace reprobench
