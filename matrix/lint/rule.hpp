// A rule of `reprobench lint` is one row: its code, its severity, its title, its remedy, its source, and the function
// that checks it. The rules of a subject are one table in one file; lint_rules() has all of them.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/document/words.hpp"
#include "matrix/lint/config.hpp"
#include "matrix/lint/memory_estimate.hpp"
#include "matrix/lint/situation.hpp"

namespace reprobench {

enum class Severity { error, warning, note };
template <>
struct Words<Severity> {
  static constexpr std::array<std::string_view, 3> table = {"error", "warning", "note"};
};

// Everything that a rule may look at.
struct LintSubject {
  const DeepSpeedConfig& config;
  const DeepSpeedSettings& settings;
  const LintSituation& situation;
  const MemoryEstimate& memory;
};

struct LintFinding {
  std::string code;
  Severity severity = Severity::note;
  Mark mark;         // line 0: about the environment, not the file
  std::string what;  // one sentence, with the numbers
  std::string remedy;
};

struct LintRule;

// Collects the findings of a rule.
class LintFindings {
 public:
  LintFindings(const LintRule& rule, std::vector<LintFinding>& found) : rule_(rule), found_(found) {}

  void add(Mark mark, std::string what);
  void add(Mark mark, std::string what, std::string remedy);  // instead of the row's remedy

 private:
  const LintRule& rule_;
  std::vector<LintFinding>& found_;
};

struct LintRule {
  const char* code;
  Severity severity;
  const char* title;   // what is wrong, for the list of rules
  const char* remedy;  // what to do
  const char* source;  // where this is stated; empty if it follows from the rest
  void (*check)(const LintSubject& subject, LintFindings& findings);
};

std::span<const LintRule> key_rules();
std::span<const LintRule> batch_rules();
std::span<const LintRule> precision_rules();
std::span<const LintRule> zero_rules();
std::span<const LintRule> offload_rules();
std::span<const LintRule> memory_rules();
std::span<const LintRule> environment_rules();

std::vector<const LintRule*> lint_rules();  // all, by code

}  // namespace reprobench
