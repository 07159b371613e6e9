// Commands that are printed to be copied name their store, unless it is the usual one.
#pragma once

#include <string>

namespace reprobench {

// Makes "reprobench --store DIR explain ..." of "reprobench explain ...". Text without such a command stays as it is.
std::string in_store(const std::string& command, const std::string& store);

}  // namespace reprobench
