// How the root of an image and a few paths of this host become one tree of mounts, decided before anything is mounted.
//
// The root is never written to, so no mount point can be made in it. Its entries are therefore bound one by one into a
// new file system in memory, the spine. If a path of the host falls into a folder of the image, that folder is made in
// the spine too, and its entries are bound one level further down.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace reprobench {

enum class SpineKind { folder, file, link, other };  // other: devices, sockets and FIFOs, which are left out

struct SpineEntry {
  std::string name;
  SpineKind kind = SpineKind::file;
  std::string link;  // target of a link, as written
};

// Entries of a folder of the image: "" is its root, "/usr" a folder there. Empty if there is no such folder.
using EntriesOfRoot = std::function<std::vector<SpineEntry>(const std::string& folder)>;

// A path of this host, which has the same name inside unless it says otherwise.
struct HostPath {
  std::string path;  // inside: absolute, without `.`, `..` and a slash at its end
  bool is_folder = true;
  bool is_writable = false;
  std::string of_host = {};  // its name on this host, if that is another
  bool operator==(const HostPath&) const = default;
};

enum class SpineAct { mount_new, make_folder, make_link, bind_of_root, bind_of_host };

struct SpineStep {
  SpineAct act = SpineAct::make_folder;
  std::string path;  // inside
  std::string link = {};
  bool is_folder = true;
  bool is_writable = false;
  bool has_mount_point = false;  // a bound folder has it already
  std::string of_host = {};      // as in HostPath
  bool operator==(const SpineStep&) const = default;
};

struct Spine {
  std::vector<SpineStep> steps;  // in their order
  std::string problem;           // why there is no such tree; empty if there is one
};

// The spine's own place for the host's files until all is bound.
inline constexpr const char* kHostPlace = "/.reprobench-host";

// Where the libraries of this host's GPU driver lie inside. An image may keep its own libraries anywhere, so that no
// folder of the image would do, and of the host's folder the image must not see the other libraries.
inline constexpr const char* kDriverPlace = "/.reprobench-driver";

Spine plan_spine(const EntriesOfRoot& entries_of, std::vector<HostPath> of_host);

}  // namespace reprobench
