#include "matrix/image/unpacked_image.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/image/image_layers.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/sha256.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0755;
constexpr unsigned kPermissions = 0777;  // neither setuid, setgid nor sticky
constexpr unsigned kOwnersToRead = 0400;

[[noreturn]] void fail(const fs::path& path) {
  throw fs::filesystem_error("cannot be written", path, {errno, std::generic_category()});
}

void write_file(const Image& image, const std::string& name, const ImageEntry& entry, const fs::path& path) {
  if (entry.content.empty()) throw_image_error(image, "RB075", fmt::format("the bytes of {} were not kept", name));
  if (link(entry.content.c_str(), path.c_str()) != 0) fail(path);
  if (chmod(path.c_str(), (entry.mode & kPermissions) | kOwnersToRead) != 0) fail(path);
}

}  // namespace

void write_root(const Image& image, const fs::path& folder) {
  for (const auto& [name, entry] : image.tree.entries()) {  // a folder comes before what lies in it
    const fs::path path = folder / name;
    switch (entry.kind) {
      case EntryKind::folder:
        if (mkdir(path.c_str(), kFolderMode) != 0) fail(path);
        break;
      case EntryKind::file:
        write_file(image, name, entry, path);
        break;
      case EntryKind::link:
        if (symlink(entry.link.c_str(), path.c_str()) != 0) fail(path);
        break;
      case EntryKind::other:
        break;
    }
  }
}

std::string digest_of_root(const Image& image) {
  if (!image.unreadable.empty()) {
    throw ProvisionError(fmt::format("{}: {}; what cannot be read is in no digest, so run as root or give an archive",
                                     image.name, image.unreadable.front()));
  }
  std::string text;
  for (const auto& [name, entry] : image.tree.entries()) {
    const std::string content = entry.kind == EntryKind::file ? sha256_of_file(entry.content) : entry.link;
    text += fmt::format("{} {} {:o} {}\n", name, static_cast<int>(entry.kind), entry.mode, content);
  }
  return "root-sha256:" + sha256_of_text(text);
}

}  // namespace reprobench
