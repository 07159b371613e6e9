#include "matrix/orders/formed_output.hpp"

#include <algorithm>
#include <set>

#include "matrix/orders/formed_families.hpp"

namespace reprobench {
namespace {

const FormedFamily* family_of(std::string_view operator_name) {
  for (const FormedFamily* family : {&kSoftmaxFamily, &kChannelNormFamily}) {
    if (family->has(operator_name)) return family;
  }
  return nullptr;
}

// Without the release of the C library, which differs between hosts.
std::string without_release(std::string_view text) {
  constexpr std::string_view kLibrary = "libm-";
  std::string plain(text);
  for (std::size_t at = plain.find(kLibrary); at != std::string::npos; at = plain.find(kLibrary, at)) {
    at += kLibrary.size();
    const std::size_t end = std::min(plain.size(), plain.find_first_not_of("0123456789.", at));
    if (end > at) plain.erase(at, end - at);
  }
  return plain;
}

}  // namespace

std::shared_ptr<const FormedOutput> formed_output(const DeclaredCall& call, std::string_view output,
                                                  std::string& why_not) {
  const FormedFamily* const family = family_of(call.name);
  return family == nullptr ? nullptr : family->output(call, output, why_not);
}

bool has_formed_outputs(std::string_view operator_name) { return family_of(operator_name) != nullptr; }

bool is_formed_text(std::string_view text) {
  static const std::set<std::string> kTexts = [] {
    std::set<std::string> texts;
    for (const FormedFamily* family : {&kSoftmaxFamily, &kChannelNormFamily}) {
      for (const std::string& one : family->texts()) texts.insert(without_release(one));
    }
    return texts;
  }();
  return text.find("libm- ") == std::string_view::npos && kTexts.contains(without_release(text));
}

}  // namespace reprobench
