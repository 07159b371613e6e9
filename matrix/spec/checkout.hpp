// A matrix, a suite or a stack file comes with a checkout that somebody else may have written. Such a file, and every
// file that it names, must lie in that checkout. A link that leads out of it, such as to secrets in a home folder, is
// not followed, because error messages show parts of a file.
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

// The nearest folder above `file`, as it is written, that is the root of a repository or of reprobench's files. If
// there is none, the folder that holds the file.
std::filesystem::path checkout_of(const std::filesystem::path& file);

// "a link leads out of FOLDER"; empty if no link does, or if nothing is there.
std::string leads_out(const std::filesystem::path& file);

}  // namespace reprobench
