#include "matrix/provision/zip_directory.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "matrix/base/regular_file.hpp"
#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

constexpr std::uint32_t kEndOfDirectory = 0x06054b50;
constexpr std::uint32_t kEndOfDirectory64 = 0x06064b50;
constexpr std::uint32_t kEndOfDirectory64Locator = 0x07064b50;
constexpr std::uint32_t kDirectoryHeader = 0x02014b50;
constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::size_t kEndOfDirectoryBytes = 22;
constexpr std::size_t kDirectoryHeaderBytes = 46;
constexpr std::int64_t kLocalHeaderBytes = 30;
constexpr std::uint16_t kHasDataDescriptor = 1 << 3;
constexpr std::int64_t kLargestDataDescriptorBytes = 24;
constexpr std::uint16_t kMadeByUnix = 3;
constexpr std::uint32_t kFileTypeMask = 0170000;
constexpr std::uint32_t kSymlinkType = 0120000;

// An entry with what only the checks need.
struct RawEntry {
  ZipEntry entry;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::int64_t packed_bytes = 0;
  std::int64_t offset = 0;  // of the local header
  bool is_symlink = false;
};

struct DirectoryPlace {
  std::int64_t offset = 0;
  std::int64_t size_bytes = 0;
  std::int64_t entries = 0;
  std::int64_t end = 0;  // where the directory must end for the archive to be one piece
};

class Archive {
 public:
  explicit Archive(const std::filesystem::path& path) : name_(path.filename().string()) {
    const RegularFile file = open_regular_file(path);
    if (!file.problem.empty()) {
      throw ProvisionError(fmt::format("{}: cannot be read: {}", path.string(), file.problem));
    }
    stream_.open(path, std::ios::binary);
    size_bytes_ = file.size_bytes;
  }

  std::int64_t size_bytes() const { return size_bytes_; }

  std::string read(std::int64_t offset, std::int64_t length) {
    if (offset < 0 || length < 0 || offset > size_bytes_ - length) {
      fail("RB075", "archive is cut short or its directory points outside it");
    }
    std::string bytes(static_cast<std::size_t>(length), '\0');
    stream_.seekg(offset);
    stream_.read(bytes.data(), length);
    if (!stream_) fail("RB075", "reading it failed");
    return bytes;
  }

  [[noreturn]] void fail(const char* code, const std::string& what) const {
    throw ProvisionError(fmt::format("{}: error[{}]: {}; nothing was extracted", name_, code, what));
  }

 private:
  std::string name_;
  std::ifstream stream_;
  std::int64_t size_bytes_ = 0;
};

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t length) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < length; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}
std::uint16_t u16(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(little_endian(bytes, at, 2));
}
std::uint32_t u32(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(little_endian(bytes, at, 4));
}
std::int64_t i64(std::string_view bytes, std::size_t at) {
  return static_cast<std::int64_t>(little_endian(bytes, at, 8));
}

// A byte of a name as an error message may show it.
std::string printable(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 200)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return text;
}

DirectoryPlace find_directory_64(Archive& archive, std::int64_t end_offset) {
  const std::string locator = archive.read(end_offset - 20, 20);
  if (u32(locator, 0) != kEndOfDirectory64Locator) archive.fail("RB075", "zip64 locator is missing");
  const std::int64_t offset = i64(locator, 8);
  const std::string record = archive.read(offset, 56);
  if (u32(record, 0) != kEndOfDirectory64) archive.fail("RB075", "zip64 end of directory is missing");
  return {.offset = i64(record, 48), .size_bytes = i64(record, 40), .entries = i64(record, 32), .end = offset};
}

DirectoryPlace find_directory(Archive& archive) {
  const std::int64_t tail_bytes = std::min<std::int64_t>(archive.size_bytes(), kEndOfDirectoryBytes + 0xffff);
  const std::int64_t tail_offset = archive.size_bytes() - tail_bytes;
  const std::string tail = archive.read(tail_offset, tail_bytes);
  for (std::int64_t at = tail_bytes - static_cast<std::int64_t>(kEndOfDirectoryBytes); at >= 0; --at) {
    const std::string_view record = std::string_view(tail).substr(static_cast<std::size_t>(at));
    if (u32(record, 0) != kEndOfDirectory || u16(record, 20) != record.size() - kEndOfDirectoryBytes) continue;
    const std::int64_t end = tail_offset + at;
    if (u16(record, 10) == 0xffff || u32(record, 12) == 0xffffffff || u32(record, 16) == 0xffffffff) {
      return find_directory_64(archive, end);
    }
    return {.offset = u32(record, 16), .size_bytes = u32(record, 12), .entries = u16(record, 10), .end = end};
  }
  archive.fail("RB075", "it is no complete zip archive");
}

// Sizes and offset that did not fit 32 bits, from the extra field, in the order the format gives them.
void read_zip64_extra(Archive& archive, std::string_view extra, RawEntry& raw) {
  std::vector<std::int64_t*> wanted;
  for (std::int64_t* value : {&raw.entry.size_bytes, &raw.packed_bytes, &raw.offset}) {
    if (*value == 0xffffffff) wanted.push_back(value);
  }
  if (wanted.empty()) return;
  for (std::size_t at = 0; at + 4 <= extra.size(); at += 4 + u16(extra, at + 2)) {
    if (u16(extra, at) != 1) continue;
    if (u16(extra, at + 2) < 8 * wanted.size() || at + 4 + 8 * wanted.size() > extra.size()) break;
    for (std::size_t i = 0; i < wanted.size(); ++i) *wanted[i] = i64(extra, at + 4 + 8 * i);
    return;
  }
  archive.fail("RB075", fmt::format("entry \"{}\" lacks its zip64 sizes", printable(raw.entry.name)));
}

std::vector<RawEntry> read_entries(Archive& archive, const DirectoryPlace& place) {
  const std::string directory = archive.read(place.offset, place.size_bytes);
  std::vector<RawEntry> entries;
  std::size_t at = 0;
  while (at < directory.size()) {
    const std::string_view header = std::string_view(directory).substr(at);
    if (header.size() < kDirectoryHeaderBytes || u32(header, 0) != kDirectoryHeader) break;
    const std::size_t name_bytes = u16(header, 28);
    const std::size_t extra_bytes = u16(header, 30);
    const std::size_t length = kDirectoryHeaderBytes + name_bytes + extra_bytes + u16(header, 32);
    if (header.size() < length) break;
    RawEntry raw;
    raw.entry = {.name = std::string(header.substr(kDirectoryHeaderBytes, name_bytes)), .size_bytes = u32(header, 24)};
    raw.flags = u16(header, 8);
    raw.method = u16(header, 10);
    raw.crc = u32(header, 16);
    raw.packed_bytes = u32(header, 20);
    raw.offset = u32(header, 42);
    raw.is_symlink = u16(header, 4) >> 8 == kMadeByUnix && ((u32(header, 38) >> 16) & kFileTypeMask) == kSymlinkType;
    read_zip64_extra(archive, header.substr(kDirectoryHeaderBytes + name_bytes, extra_bytes), raw);
    // 64 bits from the archive; sums of them are safe after this.
    for (const std::int64_t value : {raw.packed_bytes, raw.offset}) {
      if (value >= 0 && value <= archive.size_bytes()) continue;
      archive.fail("RB075", fmt::format("entry \"{}\" lies outside the archive", printable(raw.entry.name)));
    }
    entries.push_back(raw);
    at += length;
  }
  if (at != directory.size() || static_cast<std::int64_t>(entries.size()) != place.entries) {
    archive.fail("RB075", "central directory is damaged");
  }
  return entries;
}

void check_name(const Archive& archive, const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos) {
    archive.fail("RB073", fmt::format("entry \"{}\" has no usable name", printable(name)));
  }
  if (name.find('\\') != std::string::npos) {
    archive.fail("RB073", fmt::format("entry \"{}\" has a backslash in its name", printable(name)));
  }
  const bool has_drive = name.size() > 1 && name[1] == ':' && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
  bool leaves = name.front() == '/' || has_drive;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = std::string_view(name).substr(begin, end - begin);
    leaves = leaves || part == "..";
    // Only the end of a folder's name may be empty.
    if (part == "." || (part.empty() && begin < name.size() && begin > 0)) {
      archive.fail("RB073", fmt::format("entry \"{}\" has a name with an empty part", printable(name)));
    }
    begin = end + 1;
  }
  if (leaves) archive.fail("RB073", fmt::format("entry \"{}\" leaves the target folder", printable(name)));
}

std::string folded(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

// Every path an archive makes, with its parent folders, must be spelt one way and be either file or folder.
void check_collisions(const Archive& archive, const std::vector<RawEntry>& entries) {
  std::map<std::string, std::string> spelling;  // folded path -> path
  std::set<std::string> files;
  std::set<std::string> folders;
  for (const RawEntry& raw : entries) {
    const std::string& name = raw.entry.name;
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      const std::string folder = name.substr(0, slash);
      folders.insert(folder);
      const auto [known, is_new] = spelling.emplace(folded(folder), folder);
      if (!is_new && known->second != folder) {
        archive.fail("RB078", fmt::format("\"{}\" and \"{}\" differ only in case", known->second, folder));
      }
    }
    if (raw.entry.is_folder()) continue;
    if (!files.insert(name).second) archive.fail("RB074", fmt::format("entry \"{}\" appears twice", printable(name)));
    const auto [known, is_new] = spelling.emplace(folded(name), name);
    if (!is_new && known->second != name) {
      archive.fail("RB078", fmt::format("\"{}\" and \"{}\" differ only in case", known->second, name));
    }
  }
  for (const std::string& file : files) {
    if (folders.contains(file)) {
      archive.fail("RB074", fmt::format("entry \"{}\" is both a file and a folder", printable(file)));
    }
  }
}

void check_limits(const Archive& archive, const std::vector<RawEntry>& entries, const ZipLimits& limits) {
  std::int64_t total_bytes = 0;
  for (const RawEntry& raw : entries) {
    if (raw.entry.size_bytes < 0 || raw.entry.size_bytes > limits.size_bytes - total_bytes) {
      archive.fail("RB077", fmt::format("it unpacks to more than {} bytes", limits.size_bytes));
    }
    total_bytes += raw.entry.size_bytes;
  }
  const double ratio = static_cast<double>(total_bytes) / static_cast<double>(archive.size_bytes());
  if (ratio > limits.ratio) {
    archive.fail("RB077", fmt::format("it unpacks to {:.0f} times its size, the limit is {:g}", ratio, limits.ratio));
  }
}

// The local header must say what the directory says, and the entry must begin where the one before it ended. Returns
// where the entry's data ends.
std::int64_t check_local_header(Archive& archive, const RawEntry& raw, std::int64_t expected_offset) {
  const std::string shown = printable(raw.entry.name);
  const std::int64_t gap_bytes = raw.offset - expected_offset;
  if (gap_bytes < 0 || gap_bytes > kLargestDataDescriptorBytes) {
    archive.fail("RB075", fmt::format("entry \"{}\" does not follow the one before it", shown));
  }
  const std::string header = archive.read(raw.offset, kLocalHeaderBytes);
  if (u32(header, 0) != kLocalHeader) archive.fail("RB075", fmt::format("entry \"{}\" has no local header", shown));
  const std::string name = archive.read(raw.offset + kLocalHeaderBytes, u16(header, 26));
  const bool sizes_follow = (u16(header, 6) & kHasDataDescriptor) != 0;
  const auto differs = [](std::uint32_t local, std::int64_t central) {
    return local != 0xffffffff && local != central;
  };
  const bool agrees = name == raw.entry.name && u16(header, 8) == raw.method &&
                      (sizes_follow || (u32(header, 14) == raw.crc && !differs(u32(header, 18), raw.packed_bytes) &&
                                        !differs(u32(header, 22), raw.entry.size_bytes)));
  if (!agrees) {
    archive.fail("RB075", fmt::format("entry \"{}\": local header (\"{}\") and central directory differ", shown,
                                      printable(name)));
  }
  return raw.offset + kLocalHeaderBytes + u16(header, 26) + u16(header, 28) + raw.packed_bytes;
}

void check_layout(Archive& archive, std::vector<RawEntry> entries, const DirectoryPlace& place) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::int64_t end = 0;
  bool sizes_follow = false;
  for (const RawEntry& raw : entries) {
    if (!sizes_follow && raw.offset != end) {
      archive.fail("RB075", fmt::format("entry \"{}\" does not follow the one before it", printable(raw.entry.name)));
    }
    end = check_local_header(archive, raw, end);
    sizes_follow = (raw.flags & kHasDataDescriptor) != 0;
  }
  const std::int64_t gap_bytes = place.offset - end;
  if (gap_bytes < 0 || gap_bytes > (sizes_follow ? kLargestDataDescriptorBytes : 0) ||
      place.offset + place.size_bytes != place.end) {
    archive.fail("RB075", "bytes between entries and directory belong to neither");
  }
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const std::filesystem::path& path, const ZipLimits& limits) {
  Archive archive(path);
  const DirectoryPlace place = find_directory(archive);
  if (place.entries > limits.entries) {
    archive.fail("RB077", fmt::format("it has {} entries, the limit is {}", place.entries, limits.entries));
  }
  const std::vector<RawEntry> raws = read_entries(archive, place);
  check_limits(archive, raws, limits);
  for (const RawEntry& raw : raws) {
    check_name(archive, raw.entry.name);
    if (raw.is_symlink) {
      archive.fail("RB074", fmt::format("entry \"{}\" is a symbolic link", printable(raw.entry.name)));
    }
  }
  check_collisions(archive, raws);
  check_layout(archive, raws, place);
  std::vector<ZipEntry> entries;
  entries.reserve(raws.size());
  for (const RawEntry& raw : raws) entries.push_back(raw.entry);
  return entries;
}

}  // namespace reprobench
