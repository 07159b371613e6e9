// The words of an enum, in one table beside it: the names of its values in documents, on the command line and in error
// messages. An enum whose numbers are what people know has a table of numbers instead.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace reprobench {

// Specialised beside the enum with `static constexpr std::array<std::string_view, N> table`; index = enumerator.
template <class Enum>
struct Words;

template <class Enum>
concept Worded = requires {
  Words<Enum>::table;
};

// Specialised beside the enum with `static constexpr std::array<Enum, N> table`: all its values.
template <class Enum>
struct Numbers;

template <class Enum>
concept Numbered = requires {
  Numbers<Enum>::table;
};

template <Worded Enum>
constexpr std::string_view to_string(Enum value) {
  return Words<Enum>::table[static_cast<std::size_t>(value)];
}

// Nothing for any other text.
template <Worded Enum>
constexpr std::optional<Enum> from_word(std::string_view word) {
  for (std::size_t i = 0; i < Words<Enum>::table.size(); ++i) {
    if (Words<Enum>::table[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace reprobench
