// Calls write(2) until everything is written.
#pragma once

#include <string_view>

namespace reprobench {

// Returns 0, or the errno of the write that failed.
int write_fully(int fd, std::string_view bytes);

}  // namespace reprobench
