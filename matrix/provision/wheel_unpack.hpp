// Unpacks the part of a wheel that a stack needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "matrix/provision/zip_directory.hpp"

namespace reprobench {

// A file as it was unpacked.
struct UnpackedFile {
  std::string path;  // relative to the target folder
  std::int64_t size_bytes = 0;
  std::string sha256;  // 64 hex digits
};

// Whether a stack needs this file of a wheel. The Python part is never needed. Without a GPU the files that only a GPU
// needs are left out too, which for torch are two thirds of the wheel. Wheel metadata (licences, RECORD) is always
// kept.
bool is_wanted(std::string_view entry_name, bool with_gpu);

bool is_shared_library(std::string_view name);

// Maps a file to its hash in RECORD, "sha256=<base64url>"; empty for RECORD itself.
std::map<std::string, std::string> hashes_of_record(const std::string& text);

using UnpackProgress = std::function<void(std::int64_t done_bytes, std::int64_t total_bytes)>;

// Writes the entries that `wanted` accepts below `target`, which must be a folder that only the caller uses. A file
// that already exists is an error. Every file's SHA-256 is compared with the wheel's RECORD while it is written. Throws
// ProvisionError with the catalogue's code for a hostile or damaged wheel (read_zip_directory; RB076: RECORD). Except
// for a damaged file (RB075, RB076), it is thrown before anything was written.
std::vector<UnpackedFile> unpack_wheel(const std::filesystem::path& wheel, const std::filesystem::path& target,
                                       const std::function<bool(std::string_view)>& wanted,
                                       const UnpackProgress& progress = {}, const ZipLimits& limits = {});

}  // namespace reprobench
