// The files of an image as a container would see them: one tree, with every layer applied and every link followed
// inside the image. Nothing of it is written to disk, so a hostile path has nowhere to lead.
//
// Paths have no leading slash: "usr/lib/libc.so.6". The root itself is "".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

enum class EntryKind { folder, file, link, other };  // other: a device, a FIFO, a socket

struct ImageEntry {
  EntryKind kind = EntryKind::file;
  unsigned mode = 0;  // permission bits, with setuid, setgid and sticky
  std::int64_t owner = 0;
  std::int64_t size_bytes = 0;
  std::string link;     // target of a link, as written
  std::string content;  // path on this host of the bytes; empty: they were not kept
  int layer = 0;        // from 0, the lowest
};

class ImageTree {
 public:
  using Entries = std::map<std::string, ImageEntry, std::less<>>;

  // Adds an entry, or replaces the one with that path and everything below it; a folder that replaces a folder keeps
  // its content. Links among the folders above are followed, and missing folders are added. Returns why that is not
  // possible: "its links lead in a circle", "`usr/lib` is no folder"; empty if it was done.
  std::string put(std::string_view path, ImageEntry entry);

  // Removes the entries of layers below `layer` at `path`, or only those below it. Returns whether there were any.
  bool remove_older(std::string_view path, int layer, bool keep_folder);

  // The entry that `path` leads to, with every link followed as if the image were the root of the machine. Null if
  // there is none, or if the links lead in a circle.
  const ImageEntry* find(std::string_view path) const;

  // The same, but of a path that ends in a link the link itself.
  const ImageEntry* find_unfollowed(std::string_view path) const;

  // The path without links that `path` leads to; nothing if find() would return null.
  std::optional<std::string> resolved(std::string_view path) const;

  // Names directly below a folder, links followed, in order.
  std::vector<std::string> names_in(std::string_view folder) const;

  // By path; no path goes through a link.
  const Entries& entries() const { return entries_; }

 private:
  std::optional<std::string> resolve(std::string_view path, bool follow_last) const;
  const ImageEntry* entry_at(const std::optional<std::string>& place) const;
  std::string add_folder(std::string_view path, int layer);

  Entries entries_;
};

// "usr/lib" for "/usr//./lib/"; nothing if a part is "..", which no path of an archive needs.
std::optional<std::string> image_path(std::string_view written);

// "lib/x" and "usr" give "usr/lib/x"; "/x" gives "x". A `..` never leads above the root, as in a container.
std::string path_of_link(std::string_view target, std::string_view folder);

std::string_view folder_of_path(std::string_view path);
std::string_view name_of_path(std::string_view path);

}  // namespace reprobench
