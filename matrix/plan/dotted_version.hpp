// Versions such as driver 570.124.06 or cuDNN 9.10.2.21, compared number by number: as text, "9.10" sorts before "9.9".
#pragma once

#include <string_view>
#include <vector>

namespace reprobench {

// The numbers of a version, up to the first part that is no number ("2.9.0+cu128" is 2, 9, 0).
std::vector<int> version_numbers(std::string_view text);

// Missing parts count as 0: 12.8 is not less than 12.8.0.
bool version_less(std::string_view a, std::string_view b);

// Whether every part of `shorter` equals that of `longer`: 9.10.2 names 9.10.2.21, but not 9.10.21.
bool version_names(std::string_view shorter, std::string_view longer);

}  // namespace reprobench
