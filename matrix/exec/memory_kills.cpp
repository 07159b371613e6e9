#include "matrix/exec/memory_kills.hpp"

#include <csignal>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "matrix/evidence/attempt_end.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// The number after `oom_kill` at the beginning of a line.
std::optional<std::int64_t> kills_in(const fs::path& path) {
  std::ifstream file(path);
  std::string name;
  std::int64_t count = 0;
  while (file >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
}

// "0::/user.slice" of version 2, "4:memory:/user.slice" of version 1; a container may see its own group as "/" alone.
std::optional<std::int64_t> kills_of_group(const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool is_v2 = line.starts_with("0::/");
    const std::size_t v1 = line.find(":memory:/");
    if (!is_v2 && v1 == std::string::npos) continue;
    const fs::path folder = is_v2 ? mount : mount / "memory";
    const fs::path group = is_v2 ? line.substr(4) : line.substr(v1 + 9);
    const char* name = is_v2 ? "memory.events" : "memory.oom_control";
    for (const fs::path& place : {folder / group / name, folder / name}) {
      if (const auto count = kills_in(place)) return count;
    }
  }
  return std::nullopt;
}

}  // namespace

MemoryKills memory_kills(const fs::path& root) {
  if (const auto of_group = kills_of_group(root)) return {*of_group, false};
  return {kills_in(root / "proc/vmstat").value_or(0), true};
}

std::string killed_for_memory(const RankFiles& files, const CellRequest& request, const MemoryKills& meanwhile) {
  if (meanwhile.count <= 0) return "";
  const std::string kills =
      fmt::format("the kernel killed {} process{} {} for memory meanwhile", meanwhile.count,
                  meanwhile.count == 1 ? "" : "es", meanwhile.of_host ? "of this host" : "of this control group");
  if (files.exit.value && files.exit.value->signal == SIGKILL && files.exit.value->stopped_by == StoppedBy::nobody) {
    return "SIGKILL, and " + kills;
  }
  if (meanwhile.of_host) return "";
  const AttemptEnd end = judge_rank(files, request).end;
  if (end == AttemptEnd::completed) return "exit code 0, but " + kills;
  return end == AttemptEnd::lost ? "its end is not on record, and " + kills : "";
}

}  // namespace reprobench
