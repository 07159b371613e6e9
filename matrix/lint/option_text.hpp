// Numbers as people type them on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace reprobench {

// 1300000000, 1.3e9, 1.3B, 350M: at least 1 and at most 1e15.
std::optional<std::int64_t> parameter_count(const std::string& text);

// 80GiB, 512MB: at least one byte.
std::optional<std::int64_t> memory_size(const std::string& text);

}  // namespace reprobench
