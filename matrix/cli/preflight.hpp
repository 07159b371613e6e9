// Read-only checks of this host and its stacks, each with a remedy: one row a check in preflight.cpp.
#pragma once

#include <string>
#include <vector>

#include "matrix/cli/project.hpp"

namespace reprobench {

enum class Finding { ok, warn, fail };

struct PreflightLine {
  Finding finding = Finding::ok;
  std::string check;   // "compiler"
  std::string detail;  // what was found, with numbers
  std::string remedy;  // empty for ok
};

std::string_view to_string(Finding finding);

std::vector<PreflightLine> preflight(const Project& project);

}  // namespace reprobench
