// Shared by the tests of this layer: files and archives made entry by entry.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "ci/thrown.hpp"
#include "matrix/provision/sha256.hpp"

namespace reprobench::test {

inline const std::filesystem::path kShepherd = REPROBENCH_BINARY_DIR "/reprobench-shepherd";

#if CATCH_VERSION_MAJOR >= 3
using Catch::Matchers::ContainsSubstring;
#else
inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct ArchiveEntry {
  std::string name;
  std::string content;
  bool is_symlink = false;  // then `content` is what it points to
};

inline void write_zip(const std::filesystem::path& path, const std::vector<ArchiveEntry>& entries) {
  archive* writer = archive_write_new();
  archive_write_set_format_zip(writer);
  if (archive_write_open_filename(writer, path.c_str()) != ARCHIVE_OK) throw std::runtime_error("cannot write archive");
  for (const ArchiveEntry& entry : entries) {
    archive_entry* header = archive_entry_new();
    archive_entry_set_pathname(header, entry.name.c_str());
    archive_entry_set_perm(header, 0644);
    if (entry.is_symlink) {
      archive_entry_set_filetype(header, AE_IFLNK);
      archive_entry_set_symlink(header, entry.content.c_str());
    } else {
      archive_entry_set_filetype(header, AE_IFREG);
      archive_entry_set_size(header, static_cast<la_int64_t>(entry.content.size()));
    }
    if (archive_write_header(writer, header) != ARCHIVE_OK) throw std::runtime_error("cannot write entry");
    if (!entry.is_symlink) archive_write_data(writer, entry.content.data(), entry.content.size());
    archive_entry_free(header);
  }
  archive_write_close(writer);
  archive_write_free(writer);
}

inline std::string record_line(const ArchiveEntry& entry) {
  Sha256 sha;
  sha.update(entry.content);
  return fmt::format("{},sha256={},{}\n", entry.name, to_base64url(sha.finish()), entry.content.size());
}

// Writes `entries` as a wheel of `distribution` `version`, with the metadata that pip reads and a correct RECORD.
inline void write_wheel(const std::filesystem::path& path, const std::string& distribution, const std::string& version,
                        std::vector<ArchiveEntry> entries) {
  const std::string info = fmt::format("{}-{}.dist-info/", distribution, version);
  entries.push_back(
      {info + "METADATA", fmt::format("Metadata-Version: 2.1\nName: {}\nVersion: {}\n", distribution, version)});
  entries.push_back({info + "WHEEL",
                     "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\n"
                     "Tag: cp312-cp312-manylinux_2_28_x86_64\n"});
  std::string record;
  for (const ArchiveEntry& entry : entries) record += record_line(entry);
  record += info + "RECORD,,\n";
  entries.push_back({info + "RECORD", record});
  std::filesystem::create_directories(path.parent_path());
  write_zip(path, entries);
}

// Replaces the occurrence number `occurrence` (from 0) of `from` by `to`, which has the same length.
inline void patch_file(const std::filesystem::path& path, const std::string& from, const std::string& to,
                       int occurrence = 0) {
  std::string bytes = read_file(path);
  std::size_t at = bytes.find(from);
  for (int i = 0; i < occurrence && at != std::string::npos; ++i) at = bytes.find(from, at + 1);
  if (at == std::string::npos || from.size() != to.size()) throw std::runtime_error("nothing to patch");
  bytes.replace(at, from.size(), to);
  write_file(path, bytes);
}

// Names of everything below a folder, to check that nothing was left.
inline std::vector<std::string> names_below(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  if (!std::filesystem::exists(folder)) return names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    names.push_back(entry.path().lexically_relative(folder).string());
  }
  return names;
}

}  // namespace reprobench::test
