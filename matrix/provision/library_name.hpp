// Libraries are known by the beginnings of their file names, because a version follows.
#pragma once

#include <algorithm>
#include <string_view>

namespace reprobench {

template <class Beginnings>
bool begins_with_one_of(std::string_view name, const Beginnings& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace reprobench
