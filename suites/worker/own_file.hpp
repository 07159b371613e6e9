// Files of the user's that take part in the work. The coordinator read them when it planned, and names them by what
// they held; a path may hold something else by now, or on another machine.
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

// All of the file, if it is the one with that SHA-256. Throws RunFailure "input_changed" for another, and for none.
std::string read_own_file(const std::filesystem::path& path, const std::string& sha256);

}  // namespace reprobench
