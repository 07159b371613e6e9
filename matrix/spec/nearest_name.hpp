// The known name a user most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

// The nearest of `known` by edit distance (insert, delete, replace, swap of neighbours); empty if none is near: the
// distance may be a third of the name's length, at least 1. Of equally near ones the first.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

// "did you mean `timeout`?"; empty if nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace reprobench
