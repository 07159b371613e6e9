#include "matrix/base/available_memory.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// The number in a line "KEY NUMBER"; nothing if there is none.
std::optional<std::int64_t> number_after(const fs::path& path, const std::string& wanted) {
  std::ifstream file(path);
  for (std::string key, rest; file >> key; std::getline(file, rest)) {
    std::int64_t number = 0;
    if (key == wanted && file >> number) return number;
    file.clear();
  }
  return std::nullopt;
}

std::optional<std::int64_t> number_in(const fs::path& path) {
  std::int64_t number = 0;
  if (std::ifstream(path) >> number) return number;
  return std::nullopt;  // "max" where the group has no limit
}

// Below the mount point; a container that sees its own group alone has "/".
fs::path group_of_process(const fs::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return fs::path(line.substr(4));
  }
  return {};
}

std::int64_t left_of(const fs::path& group, std::int64_t otherwise) {
  const auto most = number_in(group / "memory.max");
  const auto used = number_in(group / "memory.current");
  if (!most || !used) return otherwise;
  const std::int64_t cached = number_after(group / "memory.stat", "inactive_file").value_or(0);
  return std::min(otherwise, std::max<std::int64_t>(0, *most - std::max<std::int64_t>(0, *used - cached)));
}

}  // namespace

std::int64_t available_memory_below(const fs::path& root) {
  const auto of_machine = number_after(root / "proc/meminfo", "MemAvailable:");
  if (!of_machine) throw std::runtime_error("/proc/meminfo has no MemAvailable");
  std::int64_t available = *of_machine * 1024;
  const fs::path mount = root / "sys/fs/cgroup";
  fs::path group = group_of_process(root);
  for (; !group.empty(); group = group.parent_path()) available = left_of(mount / group, available);
  return left_of(mount, available);
}

std::int64_t available_memory_bytes() { return available_memory_below("/"); }

}  // namespace reprobench
