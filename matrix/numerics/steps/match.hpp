// The outcome of a comparison of two things, such as tensors, files or cells. Every word is stored in documents: add
// words, never rename one.
#pragma once

#include <array>
#include <string_view>

#include "matrix/contract/document/words.hpp"

namespace reprobench {

// `not_comparable`: nothing can be said, which is never equality.
enum class Match { equal, differs, not_comparable };
template <>
struct Words<Match> {
  static constexpr std::array<std::string_view, 3> table = {"equal", "differs", "not_comparable"};
};

// The outcome for the whole: `differs` overrides `not_comparable`, and that overrides `equal`.
constexpr Match overall(Match one, Match other) {
  if (one == Match::differs || other == Match::differs) return Match::differs;
  return one == Match::equal ? other : one;
}

}  // namespace reprobench
