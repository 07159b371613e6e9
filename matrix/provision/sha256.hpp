// SHA-256 of files and source trees, in 64 lower-case hex digits and in the form of wheels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/base/sha256.hpp"

namespace reprobench {

// The form in a wheel's RECORD: URL-safe base64 without padding.
std::string to_base64url(const Sha256Digest& digest);

// Throws ProvisionError if the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

// SHA-256 over relative name and content of every regular file below `root`/`folders`, except tests, benchmarks,
// Markdown and what lies in a folder `schema` or `testdata`, in order of name. Equal digests mean that a build of these
// sources gives the same program. Folders that do not exist count as empty.
std::string sha256_of_sources(const std::filesystem::path& root, const std::vector<std::string>& folders);

}  // namespace reprobench
