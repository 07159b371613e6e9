// The known name a user most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

// The nearest of `known` by edit distance (insert, delete, replace, swap of neighbours); empty if none is near: the
// distance may be a third of the name's length, at least 1. Of equally near ones the first. Where none is near, the
// first that begins with the name: "torch-2.9" for "torch-2.9.0-cu128".
std::string nearest_name(std::string_view name, std::span<const std::string> known);

// "there is no stack `x`; did you mean `y`?", or where nothing is near what there is: "... ; there are a, b, c". What
// every message about a name that nothing has says.
std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known);

// "did you mean `timeout`?"; empty if nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace reprobench
