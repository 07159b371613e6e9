// Messages about the known name that a user most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "matrix/base/nearest_name.hpp"

namespace reprobench {

// "there is no stack `x`; did you mean `y`?". If no name is near, the message lists those that exist: "... ; there are
// a, b, c". Every message about an unknown name has this text.
std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known);

// "did you mean `timeout`?"; empty if nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace reprobench
