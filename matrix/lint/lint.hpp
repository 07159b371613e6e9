// `reprobench lint`: a DeepSpeed configuration against every rule, and what was and was not judged of it.
#pragma once

#include <string>
#include <vector>

#include "matrix/lint/config.hpp"
#include "matrix/lint/lint_document.hpp"
#include "matrix/lint/situation.hpp"

namespace reprobench {

// The folders a configuration offloads to, as it names them: what LintSituation::folders is looked up for.
std::vector<std::string> offload_paths(const DeepSpeedConfig& config);

// Findings in file order, those about the environment last.
LintDocument lint(const DeepSpeedConfig& config, const std::string& file, const LintSituation& situation);

// The rules as a table of lint/README.md, by code.
std::string rule_page();

}  // namespace reprobench
