// Commands that are written down to be copied name the store that they are about, unless it is the usual one.
#pragma once

#include <string>

namespace reprobench {

// "reprobench explain ..." as "reprobench --store DIR explain ..."; text without such a command as it is.
std::string in_store(const std::string& command, const std::string& store);

}  // namespace reprobench
