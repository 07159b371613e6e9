// An option that takes one of a few words.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {

// For CLI::Option::transform: "--color: `sometimes` is none of always, auto, never". `words` says what each stands for.
template <class Value>
CLI::Validator one_of_words(const std::map<std::string, Value>& words) {
  const auto translate = [words](std::string& text) -> std::string {
    const auto found = words.find(text);
    if (found == words.end()) {
      std::string known;
      for (const auto& [word, value] : words) known += (known.empty() ? "" : ", ") + word;
      return fmt::format("`{}` is none of {}", text, known);
    }
    text = std::to_string(static_cast<int>(found->second));  // as CLI11 reads an enumeration
    return "";
  };
  return CLI::Validator(translate, "", "words");
}

// The same for an option whose words are taken as they are.
inline CLI::Validator one_of_names(const std::vector<std::string>& names) {
  const auto check = [names](std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return "";
    return fmt::format("`{}` is none of {}", text, fmt::join(names, ", "));
  };
  return CLI::Validator(check, "", "words");
}

}  // namespace reprobench
