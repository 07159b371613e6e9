// The variables of this process that a helper program gets. None of them decides what it loads, except those that its
// own purpose needs. An attempt's worker gets fewer (exec/attempt_environment.hpp).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace reprobench {

// The variables for the search for programs, a home, a language and a folder for temporary files, and those that `more`
// names. A name in `more` that ends in `*` stands for all that begin so.
std::map<std::string, std::string> helper_environment(std::span<const std::string_view> more = {});

}  // namespace reprobench
