// A quantity of a check as sentences show it.
#pragma once

#include <string>
#include <string_view>

namespace reprobench {

// `unit` is a metric's: "1.24 ms" of "ns", "312.4 MiB" of "bytes".
std::string humanised(double value, std::string_view unit);

}  // namespace reprobench
