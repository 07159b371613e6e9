#include "matrix/orders/formed_output.hpp"

#include <algorithm>
#include <numeric>

#include "matrix/orders/formed_families.hpp"

namespace reprobench {
namespace {

constexpr const FormedFamily* kFamilies[] = {&kSoftmaxFamily, &kChannelNormFamily, &kLayerNormFamily, &kGroupNormFamily,
                                             &kAttentionFamily};

}  // namespace

const FormedFamily* formed_family(std::string_view operator_name) {
  const auto found =
      std::ranges::find_if(kFamilies, [&](const FormedFamily* family) { return family->has(operator_name); });
  return found == std::end(kFamilies) ? nullptr : *found;
}

std::shared_ptr<const FormedOutput> formed_output(const DeclaredCall& call, std::string_view output,
                                                  std::string& why_not) {
  const FormedFamily* const family = formed_family(call.name);
  return family == nullptr ? nullptr : family->output(call, output, why_not);
}

std::vector<std::size_t> forms_from(std::size_t first, std::size_t count) {
  std::vector<std::size_t> forms(count);
  std::iota(forms.begin(), forms.end(), first);
  return forms;
}

bool is_form(std::string_view text) {
  return std::ranges::any_of(kFamilies, [&](const FormedFamily* family) { return family->has_text(text); });
}

}  // namespace reprobench
