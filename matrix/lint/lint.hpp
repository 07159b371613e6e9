// `reprobench lint`: checks a DeepSpeed configuration by every rule, and reports what was and was not judged.
#pragma once

#include <string>
#include <vector>

#include "matrix/lint/config.hpp"
#include "matrix/lint/lint_document.hpp"
#include "matrix/lint/situation.hpp"

namespace reprobench {

// The folders that a configuration offloads to, as it names them. LintSituation::folders is needed for these.
std::vector<std::string> offload_paths(const DeepSpeedConfig& config);

// Findings are in file order; those about the environment come last.
LintDocument lint(const DeepSpeedConfig& config, const std::string& file, const LintSituation& situation);

// The rules as a table for lint/rules.md, by code.
std::string rule_page();

}  // namespace reprobench
