// Reads the files of an unpacked root as its own programs see them: every path and every link is the root's.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace reprobench {

// The text that `tell` returns in a process whose root is `root`. It can read nothing else, and writes nothing that
// lasts. Nothing of the root is run. Throws ProvisionError with what `tell` threw, or why there is no such process.
std::string told_inside(const std::filesystem::path& root, const std::function<std::string()>& tell);

}  // namespace reprobench
