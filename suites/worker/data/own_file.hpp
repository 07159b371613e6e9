// Files of the user's that take part in the work. The coordinator read them when it planned, and names them by what
// they held; a path may hold something else by now, or on another machine.
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

inline constexpr const char* kInputChanged = "input_changed";  // causes
inline constexpr const char* kInputRefused = "input_refused";

// All of a file, whatever it holds. Throws RunFailure "input_changed" for none.
std::string text_of_own_file(const std::filesystem::path& path);

// All of the file, if it is the one with that SHA-256. Throws RunFailure "input_changed" for another, and for none.
std::string read_own_file(const std::filesystem::path& path, const std::string& sha256);

// Throws RunFailure "input_changed" where what a file holds, by its SHA-256, is not what the workload names.
void check_is_planned(const std::string& file, const std::string& found, const std::string& planned);

}  // namespace reprobench
