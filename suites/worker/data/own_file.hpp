// The user's own files that a training uses. The coordinator read them when it planned, and names them by their
// contents. By now, or on another machine, the path may hold something else.
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

inline constexpr const char* kInputChanged = "input_changed";  // causes
inline constexpr const char* kInputRefused = "input_refused";

// The whole file, whatever it holds. Throws RunFailure "input_changed" if there is none.
std::string text_of_own_file(const std::filesystem::path& path);

// The whole file, if it has that SHA-256. Throws RunFailure "input_changed" for another file, and if there is none.
std::string read_own_file(const std::filesystem::path& path, const std::string& sha256);

// Throws RunFailure "input_changed" if a file's contents are not those that the workload names, by their SHA-256.
void check_is_planned(const std::string& file, const std::string& found, const std::string& planned);

}  // namespace reprobench
