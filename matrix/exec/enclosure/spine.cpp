#include "matrix/exec/enclosure/spine.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace reprobench {
namespace {

// Places that no image brings along. Only below the last one a path of the host may lie.
constexpr std::array<std::string_view, 4> kNewPlaces = {"/dev", "/proc", "/sys", "/tmp"};
constexpr std::string_view kTemporary = "/tmp";

bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool is_new_place(std::string_view path) {
  return std::find(kNewPlaces.begin(), kNewPlaces.end(), path) != kNewPlaces.end();
}

bool is_plain(const std::string& path) {
  if (path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
  for (const std::string_view part : {"//", "/./", "/../"}) {
    if ((path + "/").find(part) != std::string::npos) return false;
  }
  return true;
}

std::string refused_path(const HostPath& host) {
  const auto lies_in = [&](std::string_view place) { return host.path == place || is_below(host.path, place); };
  if (!is_plain(host.path)) return host.path + " is no plain absolute path";
  if (lies_in(kHostPlace)) return host.path + " is the place of the host itself";
  for (const std::string_view place : kNewPlaces) {
    if (place == kTemporary ? host.path == place : lies_in(place)) {
      return host.path + " lies in " + std::string(place) + ", which is new inside";
    }
  }
  return "";
}

class SpinePlan {
 public:
  SpinePlan(const EntriesOfRoot& entries_of, std::vector<HostPath> of_host)
      : entries_of_(entries_of), of_host_(std::move(of_host)) {}

  Spine plan() {
    take_apart();
    if (spine_.problem.empty()) {
      for (const std::string_view place : kNewPlaces) {
        add({.act = SpineAct::make_folder, .path = std::string(place)});
        add({.act = SpineAct::mount_new, .path = std::string(place)});
      }
      descend("");
    }
    // Within a folder that is bound by now; the outer ones first.
    for (const HostPath& host : within_others_) {
      add({.act = SpineAct::bind_of_host,
           .path = host.path,
           .is_folder = host.is_folder,
           .is_writable = host.is_writable,
           .has_mount_point = true,
           .of_host = host.of_host});
    }
    if (!spine_.problem.empty()) spine_.steps.clear();
    return std::move(spine_);
  }

 private:
  void add(SpineStep step) { spine_.steps.push_back(std::move(step)); }

  // Those that lie below another, and may be other than it writable, are bound over it.
  void take_apart() {
    std::sort(of_host_.begin(), of_host_.end(), [](const HostPath& a, const HostPath& b) {
      return a.path != b.path ? a.path < b.path : a.is_writable > b.is_writable;
    });
    const auto same = [](const HostPath& a, const HostPath& b) { return a.path == b.path; };
    of_host_.erase(std::unique(of_host_.begin(), of_host_.end(), same), of_host_.end());
    std::vector<HostPath> outermost;
    for (const HostPath& host : of_host_) {
      if (const std::string why = refused_path(host); !why.empty()) spine_.problem = why;
      const HostPath* around = nullptr;  // the nearest
      for (const HostPath& other : of_host_) {
        if (is_below(host.path, other.path) && (around == nullptr || other.path.size() > around->path.size())) {
          around = &other;
        }
      }
      if (around == nullptr) {
        outermost.push_back(host);
      } else if (around->is_writable != host.is_writable) {
        within_others_.push_back(host);
      }
    }
    of_host_ = std::move(outermost);
  }

  const HostPath* bound_at(const std::string& path) const {
    const auto found =
        std::find_if(of_host_.begin(), of_host_.end(), [&](const HostPath& host) { return host.path == path; });
    return found == of_host_.end() ? nullptr : &*found;
  }

  const HostPath* bound_below(const std::string& path) const {
    const auto found =
        std::find_if(of_host_.begin(), of_host_.end(), [&](const HostPath& host) { return is_below(host.path, path); });
    return found == of_host_.end() ? nullptr : &*found;
  }

  void bind_host(const HostPath& host) {
    add({.act = SpineAct::bind_of_host,
         .path = host.path,
         .is_folder = host.is_folder,
         .is_writable = host.is_writable,
         .of_host = host.of_host});
  }

  void take_entry(const std::string& path, const SpineEntry& entry) {
    if (const HostPath* host = bound_at(path)) return bind_host(*host);
    if (const HostPath* host = bound_below(path)) {
      if (entry.kind != SpineKind::folder) {
        spine_.problem = path + " of the image is no folder, and " + host->path +
                         " lies below it on this host: choose another place for it";
        return;
      }
      add({.act = SpineAct::make_folder, .path = path});
      return descend(path);
    }
    switch (entry.kind) {
      case SpineKind::folder:
      case SpineKind::file:
        return add({.act = SpineAct::bind_of_root, .path = path, .is_folder = entry.kind == SpineKind::folder});
      case SpineKind::link:
        return add({.act = SpineAct::make_link, .path = path, .link = entry.link});
      case SpineKind::other:
        return;
    }
  }

  // The image's entries of a folder, and those that only the host has there.
  void descend(const std::string& folder) {
    std::map<std::string, SpineEntry> entries;
    for (SpineEntry& entry : entries_of_(folder)) entries.emplace(entry.name, entry);
    for (const HostPath& host : of_host_) {
      if (!is_below(host.path, folder)) continue;
      const std::size_t start = folder.size() + 1;
      const std::string name = host.path.substr(start, host.path.find('/', start) - start);
      entries.emplace(name, SpineEntry{name, SpineKind::folder, ""});
    }
    for (const auto& [name, entry] : entries) {
      const std::string path = folder + "/" + name;
      if (path == kHostPlace) continue;
      if (path == kDriverPlace) {
        take_driver(path);
      } else if (!is_new_place(path)) {
        take_entry(path, entry);
      } else if (bound_below(path) != nullptr) {
        descend_into_new(path);
      }
    }
  }

  // An image that has a folder of that name brings no driver along.
  void take_driver(const std::string& path) {
    if (bound_below(path) == nullptr) return;
    add({.act = SpineAct::make_folder, .path = path});
    descend_into_new(path);
  }

  // Takes nothing of the image there.
  void descend_into_new(const std::string& folder) {
    for (const HostPath& host : of_host_) {
      if (!is_below(host.path, folder)) continue;
      for (std::size_t end = host.path.find('/', folder.size() + 1); end != std::string::npos;
           end = host.path.find('/', end + 1)) {
        const SpineStep step{.act = SpineAct::make_folder, .path = host.path.substr(0, end)};
        if (std::find(spine_.steps.begin(), spine_.steps.end(), step) == spine_.steps.end()) add(step);
      }
      bind_host(host);
    }
  }

  const EntriesOfRoot& entries_of_;
  std::vector<HostPath> of_host_;        // none below another
  std::vector<HostPath> within_others_;  // the outer ones first
  Spine spine_;
};

}  // namespace

Spine plan_spine(const EntriesOfRoot& entries_of, std::vector<HostPath> of_host) {
  return SpinePlan(entries_of, std::move(of_host)).plan();
}

}  // namespace reprobench
