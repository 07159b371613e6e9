// What of this process's variables a helper program gets: none decides what it loads, but for what its own purpose
// needs. An attempt's worker gets less (exec/attempt_environment.hpp).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace reprobench {

// Where programs are found, a home, a language, a folder for temporary files; and those that `more` names, of which one
// that ends in `*` stands for all that begin so.
std::map<std::string, std::string> helper_environment(std::span<const std::string_view> more = {});

}  // namespace reprobench
