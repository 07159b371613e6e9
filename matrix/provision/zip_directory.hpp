// Decides what a wheel contains, before a byte of it is written.
//
// Unpackers read a zip archive from its central directory, from the local headers, or from both. Archives in which the
// two differ have smuggled files past checks. Here the central directory is read and compared with every local header.
// The entries must cover the file without a gap or an overlap, so that there is only one reading of the archive.
// (Format: PKWARE APPNOTE 6.3.)
//
// No library decides this. libarchive, which unpacks, does not report offsets. libzip's strict check (ZIP_CHECKCONS of
// 1.7.3) accepts an archive that follows another one, and one with bytes between its entries and its directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reprobench {

struct ZipEntry {
  std::string name;  // relative, forward slashes, no `..`; folders end with a slash
  std::int64_t size_bytes = 0;
  bool is_folder() const { return name.ends_with('/'); }
};

struct ZipLimits {
  std::int64_t entries = 200'000;
  std::int64_t size_bytes = std::int64_t{40} << 30;  // of all entries, unpacked
  double ratio = 200;                                // unpacked bytes to bytes of the archive
};

// All entries in the order of the central directory. Throws ProvisionError for an archive that is cut, ambiguous or
// would write outside its target (RB073 - RB075, RB077, RB078 of the bad-input catalogue).
std::vector<ZipEntry> read_zip_directory(const std::filesystem::path& archive, const ZipLimits& limits = {});

}  // namespace reprobench
