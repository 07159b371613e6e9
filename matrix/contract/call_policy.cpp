#include "matrix/contract/call_policy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <variant>

namespace reprobench {
namespace {

// The names that may be before `::`. Others have operators that load code, send to other processes or take file names.
constexpr std::array<std::string_view, 2> kLibraries = {"aten", "prims"};

struct TextArgument {
  std::string_view name;
  std::string_view words;  // of all operators that have such an argument
};

constexpr TextArgument kTextArguments[] = {
    {"UPLO", "L U"},
    {"activation", "none relu silu"},
    {"approximate", "none tanh"},
    {"driver", "gels gelsd gelss gelsy gesvd gesvda gesvdj"},
    {"indexing", "ij xy"},
    {"interpolation", "higher linear lower midpoint nearest"},
    {"mode", "circular complete constant r reduced reflect replicate"},
    {"norm", "backward forward ortho"},
    {"ord", "fro nuc"},
    {"p", "fro nuc"},
    {"pad_mode", "circular constant reflect replicate"},
    {"padding", "same valid"},
    {"padding_side", "left right"},
    {"reduce", "add amax amin max mean min multiply prod sum"},
    {"rounding_mode", "floor trunc"},
    {"side", "left right"},
};

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

// einsum's `equation`, the one text that is no word of a few: letters, commas, dots, `->`.
bool is_equation(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalpha(c) != 0 || std::string_view(",.-> ").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

const TextArgument* row_of(std::string_view argument) {
  const auto* const row = std::ranges::find(kTextArguments, argument, &TextArgument::name);
  return row == std::end(kTextArguments) ? nullptr : row;
}

std::string refusal_of_text(const std::string& argument, const std::string& text) {
  const std::string shown = "`" + argument + "='" + text + "'`";
  if (argument.empty()) return "text is given by its argument's name, as in approximate='tanh'; '" + text + "' is not";
  if (is_known_text(argument, text) || std::ranges::count(declared_dtypes(), text) > 0) return {};
  const TextArgument* const row = row_of(argument);
  if (row != nullptr) return shown + ": the words of `" + argument + "` are " + std::string(row->words);
  return shown + ": no argument of that name is known to choose among words; a call takes no path, device or code";
}

}  // namespace

bool is_known_text(std::string_view argument, std::string_view text) {
  if (argument == "equation") return is_equation(text);
  const TextArgument* const row = row_of(argument);
  return row != nullptr && has_word(row->words, text);
}

std::string refusal_of(const DeclaredCall& call) {
  const std::size_t separator = call.name.find("::");
  if (separator != std::string::npos && std::ranges::count(kLibraries, call.name.substr(0, separator)) == 0) {
    return "`" + call.name + "` is of another library than aten and prims, whose operators alone are called";
  }
  for (const DeclaredArgument& argument : call.arguments) {
    const auto* const text = std::get_if<std::string>(&argument.value);
    if (text == nullptr) continue;
    if (std::string refusal = refusal_of_text(argument.name, *text); !refusal.empty()) return refusal;
  }
  return {};
}

}  // namespace reprobench
