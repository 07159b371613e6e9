// Facts about this machine and the command's environment, like those that the usual check scripts list. Judgements are
// in environment_rules.cpp.
#pragma once

#include <string>
#include <vector>

#include "matrix/lint/situation.hpp"

namespace reprobench {

struct EnvironmentFact {
  std::string name;  // "driver"
  std::string value;
};

std::vector<EnvironmentFact> environment_facts(const LintSituation& situation);

}  // namespace reprobench
