#include "matrix/spec/nearest_name.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? "" : "did you mean `" + nearest + "`?";
}

std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known) {
  constexpr std::size_t kMostListed = 24;
  const std::string begin = fmt::format("there is no {} `{}`", kind, name);
  const std::string hint = did_you_mean(name, known);
  if (!hint.empty()) return begin + "; " + hint;
  if (known.empty()) return begin + "; there is none at all";
  const auto listed = known.first(std::min(known.size(), kMostListed));
  return fmt::format("{}; there {} {}{}", begin, known.size() == 1 ? "is" : "are", fmt::join(listed, ", "),
                     known.size() > kMostListed ? " ..." : "");
}

}  // namespace reprobench
