// The known name a user most likely meant, as messages say it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/nearest_name.hpp"

namespace reprobench {

// "there is no stack `x`; did you mean `y`?", or where nothing is near what there is: "... ; there are a, b, c". What
// every message about a name that nothing has says.
std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known);

// "did you mean `timeout`?"; empty if nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace reprobench
