#include "matrix/image/image_root.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/image/image_layers.hpp"

namespace reprobench {
namespace {

constexpr const char* kOfRoots[] = {"etc", "usr", "bin", "lib", "opt"};

// Nothing that runs inside sees what is mounted there.
constexpr const char* kNewInside[] = {"dev", "proc", "sys", "tmp"};

bool is_new_inside(const std::string& path) {
  return std::find(std::begin(kNewInside), std::end(kNewInside), path) != std::end(kNewInside);
}

std::string target_of(const char* path) {
  std::string target(4096, '\0');
  const ssize_t length = readlink(path, target.data(), target.size());
  target.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return target;
}

ImageEntry entry_of(const FTSENT& found) {
  ImageEntry entry;
  const struct stat& status = *found.fts_statp;
  entry.mode = status.st_mode & 07777U;
  entry.owner = status.st_uid;
  if (S_ISDIR(status.st_mode)) {
    entry.kind = EntryKind::folder;
  } else if (S_ISLNK(status.st_mode)) {
    entry.kind = EntryKind::link;
    entry.link = target_of(found.fts_accpath);
  } else if (S_ISREG(status.st_mode)) {
    entry.size_bytes = status.st_size;
    entry.content = found.fts_path;
  } else {
    entry.kind = EntryKind::other;
  }
  return entry;
}

}  // namespace

bool looks_like_root(const std::filesystem::path& folder) {
  return std::ranges::any_of(kOfRoots, [&](const char* part) { return std::filesystem::exists(folder / part); });
}

void read_root(Image& image, const std::filesystem::path& folder, const ImageLimits& limits) {
  image.form = ImageForm::root;
  if (!looks_like_root(folder))
    throw_image_error(image, "RB027", "it is neither an image nor a root: no etc, usr, bin, lib or opt");

  std::string start = std::filesystem::canonical(folder).string();  // the walk follows no link, and not this one either
  char* const starts[] = {start.data(), nullptr};
  const std::unique_ptr<FTS, decltype(&fts_close)> walk(
      fts_open(starts, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, nullptr), fts_close);
  std::int64_t entries = 0;
  dev_t disk = 0;
  while (FTSENT* found = walk == nullptr ? nullptr : fts_read(walk.get())) {
    if (found->fts_level == 0) disk = found->fts_statp->st_dev;
    if (found->fts_level == 0 || found->fts_info == FTS_DP) continue;
    const std::string path = std::string(found->fts_path).substr(start == "/" ? 1 : start.size() + 1);
    if (found->fts_info == FTS_DNR || found->fts_info == FTS_ERR || found->fts_info == FTS_NS) {
      image.unreadable.push_back(fmt::format("{}: {}", path, std::strerror(found->fts_errno)));
      continue;
    }
    if (found->fts_info == FTS_D && found->fts_statp->st_dev != disk && !is_new_inside(path)) {
      image.unreadable.push_back(
          fmt::format("{}: another file system is mounted there; unmount it, or copy it in", path));
    }
    if (++entries > limits.most_entries) {
      throw_image_error(image, "RB077", fmt::format("it has more than {} entries", limits.most_entries));
    }
    image.tree.put(path, entry_of(*found));
  }
}

}  // namespace reprobench
