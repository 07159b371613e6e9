#include "matrix/lint/situation.hpp"

#include "matrix/plan/compat_rules.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {

StackNeeds needs_of(const StackSpec& stack, const CompatFacts& facts) {
  StackNeeds needs;
  const TorchBuild build = torch_build(stack);
  needs.name = stack.name;
  needs.torch = build.release;
  const auto cuda = stack.components.find("cuda");
  const WheelFacts* wheel = facts.find_wheel(build.line, build.variant);
  if (wheel != nullptr && !wheel->cuda_toolkit.empty()) {
    needs.cuda_toolkit = wheel->cuda_toolkit;
  } else if (cuda != stack.components.end()) {
    needs.cuda_toolkit = cuda->second;
  }
  const auto numbers = version_numbers(needs.cuda_toolkit);
  if (numbers.empty()) return needs;
  const auto floor = facts.driver_floor.find(numbers.front());
  if (floor != facts.driver_floor.end()) needs.driver_floor = floor->second;
  needs.driver_bundled = facts.driver_of_toolkit(needs.cuda_toolkit);
  return needs;
}

}  // namespace reprobench
