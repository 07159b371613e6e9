// A matrix, a suite or a stack file comes with a checkout that somebody else may have written. What such a file is, or
// names, lies in that checkout: a link that leads out of it, to a home folder's secrets, is not followed, because what
// is wrong with a file is shown.
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

// The nearest folder above `file`, as it is written, that is the root of a repository or of reprobench's files; without
// one the folder that holds it.
std::filesystem::path checkout_of(const std::filesystem::path& file);

// "a link leads out of FOLDER"; empty: none does, or nothing is there.
std::string leads_out(const std::filesystem::path& file);

}  // namespace reprobench
