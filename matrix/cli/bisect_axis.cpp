#include "matrix/cli/bisect_axis.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "matrix/cli/project.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

std::string torch_of(const StackSpec& spec) {
  const auto torch = spec.components.find("torch");
  return torch == spec.components.end() ? "" : torch->second;
}

void require_axis(const StackFiles& files, const std::string& good, const std::string& bad,
                  const std::vector<std::string>& given) {
  std::set<std::string> seen;
  for (const std::string& name : given) {
    stack_named(files, name);
    if (!seen.insert(name).second) throw UsageError(fmt::format("--axis names {} twice", name));
  }
  if (given.front() != good || given.back() != bad) {
    throw UsageError(
        fmt::format("--axis goes from {} to {}, the ends are {} and {}", given.front(), given.back(), good, bad));
  }
}

}  // namespace

std::vector<std::string> bisect_axis(const StackFiles& files, const std::string& good, const std::string& bad,
                                     const std::vector<std::string>& given) {
  if (good == bad) throw UsageError("--good and --bad are one stack, " + good);
  const std::string good_torch = torch_of(stack_named(files, good));
  const std::string bad_torch = torch_of(stack_named(files, bad));
  if (!given.empty()) {
    require_axis(files, good, bad, given);
    return given;
  }
  const bool is_newest_first = version_less(bad_torch, good_torch);
  const auto& [oldest, newest] = std::minmax(good_torch, bad_torch, &version_less);
  std::vector<std::string> between;
  for (const auto& [name, spec] : files.stacks) {
    const std::string torch = torch_of(spec);
    if (name == good || name == bad || torch.empty()) continue;
    if (version_less(oldest, torch) && version_less(torch, newest)) between.push_back(name);
  }
  std::ranges::stable_sort(between, [&](const std::string& a, const std::string& b) {
    return version_less(torch_of(files.stacks.at(a)), torch_of(files.stacks.at(b)));
  });
  if (is_newest_first) std::ranges::reverse(between);
  std::vector<std::string> axis{good};
  axis.insert(axis.end(), between.begin(), between.end());
  axis.push_back(bad);
  return axis;
}

}  // namespace reprobench
