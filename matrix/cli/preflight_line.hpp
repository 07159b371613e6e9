// One finding of a preflight: what was looked at, what was found, and what to do about it.
#pragma once

#include <string>
#include <vector>

namespace reprobench {

enum class Finding { ok, warn, fail };

struct PreflightLine {
  Finding finding = Finding::ok;
  std::string check;   // "compiler"
  std::string detail;  // what was found, with numbers
  std::string remedy;  // empty for ok
};

using PreflightLines = std::vector<PreflightLine>;

}  // namespace reprobench
