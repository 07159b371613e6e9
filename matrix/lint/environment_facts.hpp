// What was seen of this machine and of the environment of the command, as the usual check scripts list it: facts, not
// judgements; those are environment_rules.cpp.
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
