#include "matrix/lint/rule.hpp"

namespace reprobench {

void LintFindings::add(Mark mark, std::string what) { add(std::move(mark), std::move(what), rule_.remedy); }

void LintFindings::add(Mark mark, std::string what, std::string remedy) {
  found_.push_back({rule_.code, rule_.severity, std::move(mark), std::move(what), std::move(remedy)});
}

std::vector<const LintRule*> lint_rules() {
  std::vector<const LintRule*> rules;
  for (const auto table : {key_rules(), batch_rules(), precision_rules(), zero_rules(), offload_rules(), memory_rules(),
                           environment_rules()}) {
    for (const LintRule& rule : table) rules.push_back(&rule);
  }
  return rules;
}

}  // namespace reprobench
