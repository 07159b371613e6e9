// One finding of a preflight: what was looked at, what was found, and what to do about it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "matrix/contract/document/words.hpp"

namespace reprobench {

enum class Finding { ok, warn, fail };
template <>
struct Words<Finding> {
  static constexpr std::array<std::string_view, 3> table = {"OK", "WARN", "FAIL"};
};

struct PreflightLine {
  Finding finding = Finding::ok;
  std::string check;   // "compiler"
  std::string detail;  // what was found, with numbers
  std::string remedy;  // empty for ok
};

using PreflightLines = std::vector<PreflightLine>;

}  // namespace reprobench
