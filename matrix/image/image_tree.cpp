#include "matrix/image/image_tree.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

namespace reprobench {
namespace {

constexpr int kMostLinks = 40;  // as the kernel has it

// The parts of a path, without empty ones and ".".
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (!part.empty() && part != ".") parts.push_back(part);
    at = end + 1;
  }
  return parts;
}

std::string joined(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : std::string(folder) + '/' + std::string(name);
}

// All that lies below a folder stands together, from here on.
ImageTree::Entries::const_iterator first_below(const ImageTree::Entries& entries, std::string_view folder) {
  return folder.empty() ? entries.begin() : entries.lower_bound(std::string(folder) + '/');
}

bool is_below(std::string_view path, std::string_view folder) {
  return folder.empty() || (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

}  // namespace

std::string_view folder_of_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<std::string> image_path(std::string_view written) {
  std::string path;
  for (const std::string_view part : parts_of(written)) {
    if (part == "..") return std::nullopt;
    path = joined(path, part);
  }
  return path;
}

std::string path_of_link(std::string_view target, std::string_view folder) {
  std::string path(target.starts_with('/') ? std::string_view() : folder);
  for (const std::string_view part : parts_of(target)) {
    path = part == ".." ? std::string(folder_of_path(path)) : joined(path, part);
  }
  return path;
}

std::optional<std::string> ImageTree::resolve(std::string_view path, bool follow_last) const {
  std::deque<std::string> waiting;
  for (const std::string_view part : parts_of(path)) waiting.emplace_back(part);
  std::string at;
  for (int links = 0; !waiting.empty();) {
    const std::string part = std::move(waiting.front());
    waiting.pop_front();
    if (part == "..") {
      at = folder_of_path(at);
      continue;
    }
    std::string next = joined(at, part);
    const auto entry = entries_.find(next);
    const bool is_link = entry != entries_.end() && entry->second.kind == EntryKind::link;
    if (!is_link || (waiting.empty() && !follow_last)) {
      at = std::move(next);
      continue;
    }
    if (++links > kMostLinks) return std::nullopt;
    const std::string& target = entry->second.link;
    if (target.starts_with('/')) at.clear();
    const std::vector<std::string_view> parts = parts_of(target);
    waiting.insert(waiting.begin(), parts.begin(), parts.end());
  }
  return at;
}

std::string ImageTree::add_folder(std::string_view path, int layer) {
  if (path.empty()) return "";
  const auto found = entries_.find(path);
  if (found != entries_.end()) {
    return found->second.kind == EntryKind::folder ? "" : "`" + std::string(path) + "` is no folder";
  }
  if (std::string problem = add_folder(folder_of_path(path), layer); !problem.empty()) return problem;
  ImageEntry folder;
  folder.kind = EntryKind::folder;
  folder.mode = 0755;
  folder.layer = layer;
  entries_.emplace(path, std::move(folder));
  return "";
}

std::string ImageTree::put(std::string_view path, ImageEntry entry) {
  const auto place = resolve(path, false);
  if (!place) return "its links lead in a circle";
  if (place->empty()) return entry.kind == EntryKind::folder ? "" : "it would replace the root";
  if (std::string problem = add_folder(folder_of_path(*place), entry.layer); !problem.empty()) return problem;
  if (entry.kind != EntryKind::folder) {
    for (auto at = first_below(entries_, *place); at != entries_.end() && is_below(at->first, *place);) {
      at = entries_.erase(at);
    }
  }
  entries_.insert_or_assign(*place, std::move(entry));
  return "";
}

bool ImageTree::remove_older(std::string_view path, int layer, bool keep_folder) {
  const auto place = resolve(path, false);
  if (!place) return false;
  bool was_there = false;
  for (auto at = first_below(entries_, *place); at != entries_.end() && is_below(at->first, *place);) {
    const bool is_older = at->second.layer < layer;
    was_there = was_there || is_older;
    at = is_older ? entries_.erase(at) : std::next(at);
  }
  const auto found = entries_.find(*place);
  if (!keep_folder && found != entries_.end() && found->second.layer < layer) {
    was_there = true;
    entries_.erase(found);
  }
  return was_there;
}

std::optional<std::string> ImageTree::resolved(std::string_view path) const {
  auto place = resolve(path, true);
  if (!place || (!place->empty() && entries_.find(*place) == entries_.end())) return std::nullopt;
  return place;
}

const ImageEntry* ImageTree::entry_at(const std::optional<std::string>& place) const {
  if (!place) return nullptr;
  const auto found = entries_.find(*place);
  return found == entries_.end() ? nullptr : &found->second;
}

const ImageEntry* ImageTree::find(std::string_view path) const { return entry_at(resolve(path, true)); }

const ImageEntry* ImageTree::find_unfollowed(std::string_view path) const { return entry_at(resolve(path, false)); }

std::vector<std::string> ImageTree::names_in(std::string_view folder) const {
  std::vector<std::string> names;
  const auto place = resolve(folder, true);
  if (!place) return names;
  const std::size_t begin = place->empty() ? 0 : place->size() + 1;
  for (auto at = first_below(entries_, *place); at != entries_.end() && is_below(at->first, *place); ++at) {
    // Every folder has an entry of its own, so what lies deeper names nothing new.
    if (at->first.find('/', begin) == std::string::npos) names.push_back(at->first.substr(begin));
  }
  return names;
}

}  // namespace reprobench
