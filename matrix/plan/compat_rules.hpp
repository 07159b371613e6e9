// What decides whether a host can run a cell: one table of rules over stack, facts and host.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "matrix/contract/reason.hpp"
#include "matrix/plan/compat_facts.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/plan/resolve.hpp"

namespace reprobench {

// Everything that a rule may look at.
struct Situation {
  const Cell& cell;
  const Settings& settings;  // the cell's
  const StackSpec& stack;
  const StackAvailability& availability;
  const WheelFacts* wheel;  // the stack's row; null for system stacks and for wheels the facts do not know
  const CompatFacts& facts;
  const HostFacts& host;
};

struct CompatRule {
  Reason skip;  // that the rule gives; none: what it finds is a note
  // One sentence with the numbers if the rule applies, else nothing.
  std::optional<std::string> (*finding)(const Situation& situation);
};

// The rules in the order in which they are asked. The first that skips decides; every note is kept.
std::span<const CompatRule> compat_rules();

// "2.9.0+cu128" is release line "2.9", variant "cu128" (empty without one).
struct TorchBuild {
  std::string release;
  std::string line;
  std::string variant;
};
TorchBuild torch_build(const StackSpec& stack);

}  // namespace reprobench
