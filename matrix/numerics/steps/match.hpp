// What a comparison of two things comes to, be they tensors, files or cells. Every word is stored in documents: add,
// never rename.
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

// Of the whole: what differs wins over what cannot be compared, and that over what is equal.
constexpr Match overall(Match one, Match other) {
  if (one == Match::differs || other == Match::differs) return Match::differs;
  return one == Match::equal ? other : one;
}

}  // namespace reprobench
