// An option that takes one of a few words.
#pragma once

#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

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

}  // namespace reprobench
