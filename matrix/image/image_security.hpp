// Ways into a container that come with an image, and secrets that it carries, read from its files and configuration.
#pragma once

#include <string_view>
#include <vector>

#include "matrix/image/finding.hpp"
#include "matrix/image/image.hpp"

namespace reprobench {

// Finds accounts without or with a well-known password, sshd and Jupyter that let anyone in, and files that anyone may
// change. It also finds programs that run as root, and private keys and tokens, even in files that a later layer
// removed.
std::vector<ImageFinding> find_ways_in(const Image& image);

// Whether find_ways_in() reads the bytes of a file.
bool is_security_evidence(std::string_view path, std::int64_t size_bytes);

}  // namespace reprobench
