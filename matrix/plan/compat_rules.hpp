// What can keep a cell from running on a host: one row a rule. To add one: a row in compat_rules.cpp and its function.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/plan/compat_facts.hpp"
#include "matrix/plan/resolve.hpp"

namespace reprobench {

// What a rule looks at.
struct RuleInput {
  const Cell& cell;
  const StackSpec& stack;
  const StackAvailability& availability;
  const CompatFacts& facts;
  const HostFacts& host;
};

// A reason to skip, a note that stops nothing, or neither. Both are sentences that name the numbers.
struct RuleResult {
  std::string skip_reason;
  std::string note;
};

struct CompatRule {
  std::string_view id;
  RuleResult (*apply)(const RuleInput& input);
};

// In the order they are tried; the first that skips decides.
std::span<const CompatRule> compat_rules();

}  // namespace reprobench
