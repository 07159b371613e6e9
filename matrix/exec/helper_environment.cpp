#include "matrix/exec/helper_environment.hpp"

#include <algorithm>

#include "matrix/exec/subprocess.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kOfEveryHelper[] = {"HOME",   "LANG", "LC_*", "LOGNAME", "PATH",
                                               "TMPDIR", "TZ",   "USER", "XDG_*"};

bool names(std::string_view pattern, std::string_view variable) {
  return pattern.ends_with('*') ? variable.starts_with(pattern.substr(0, pattern.size() - 1)) : variable == pattern;
}

}  // namespace

std::map<std::string, std::string> helper_environment(std::span<const std::string_view> more) {
  std::map<std::string, std::string> environment = inherited_environment();
  std::erase_if(environment, [&](const auto& variable) {
    const auto is_it = [&](std::string_view pattern) { return names(pattern, variable.first); };
    return std::ranges::none_of(kOfEveryHelper, is_it) && std::ranges::none_of(more, is_it);
  });
  return environment;
}

}  // namespace reprobench
