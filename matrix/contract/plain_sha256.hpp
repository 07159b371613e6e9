// SHA-256 (FIPS 180-4) without a library, for workers: they read files that the coordinator named by sha256.hpp, and
// link no OpenSSL.
#pragma once

#include <string>
#include <string_view>

namespace reprobench {

// 64 lower-case hex digits, those of sha256_of_text().
std::string plain_sha256_of_text(std::string_view text);

}  // namespace reprobench
