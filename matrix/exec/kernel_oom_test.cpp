// F14 with the kernel's own killer: a group of this test's own has little memory, where the host lets one be made.
#include <sstream>

#include <signal.h>
#include <sys/wait.h>

#include "matrix/exec/process_scene.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGroupBytes = "400000000";
constexpr const char* kHog = "exec tail /dev/zero";  // one line without an end

bool wrote(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// Of version 2, else of version 1. It goes when nobody is in it any longer.
class SmallGroup {
 public:
  SmallGroup() {
    const std::string name = "reprobench-test-" + std::to_string(getpid());
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/memory"}) {
      std::error_code error;
      const bool is_v2 = fs::exists(fs::path(mount) / "cgroup.controllers");
      const bool is_v1 = fs::exists(fs::path(mount) / "memory.limit_in_bytes");
      if (!is_v2 && !is_v1) continue;
      folder = fs::path(mount) / name;
      if (!fs::create_directory(folder, error)) continue;
      if (wrote(folder / (is_v2 ? "memory.max" : "memory.limit_in_bytes"), kGroupBytes)) return;
      rmdir(folder.c_str());
    }
    folder.clear();
  }
  ~SmallGroup() {
    if (!folder.empty()) becomes_true([&] { return rmdir(folder.c_str()) == 0 || errno != EBUSY; });
  }
  SmallGroup(const SmallGroup&) = delete;
  SmallGroup& operator=(const SmallGroup&) = delete;

  fs::path folder;  // empty: none can be made here
};

// "END DETAIL" of an attempt whose worker begins with `first`, by a coordinator in such a group. Nothing: it cannot be.
std::optional<std::string> end_in_small_group(const std::string& first) {
  const SmallGroup group;
  if (group.folder.empty()) return std::nullopt;
  const TemporaryFolder tools;
  const fs::path worker = tools.path / "worker";
  std::ofstream(worker) << "#!/bin/sh\n" + first + "\nexec " + kFakeWorker + " \"$@\"\n";
  fs::permissions(worker, fs::perms::owner_all);
  const fs::path said = tools.path / "said";
  const pid_t coordinator = fork();
  if (coordinator == 0) {
    if (!wrote(group.folder / "cgroup.procs", "0")) _exit(3);
    ProcessScene scene;
    scene.workers["ok"] = {{worker}, {"--do", "ok"}, {}};
    const auto records = scene.run({"ok"});
    const AttemptRecord& attempt = records.at(0).attempts.at(0);
    std::ofstream(said) << to_string(attempt.end) << " " << attempt.detail << std::flush;
    fs::remove_all(scene.store.path);
    _exit(0);
  }
  int status = 0;
  waitpid(coordinator, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 3) return std::nullopt;
  std::ostringstream text;
  text << std::ifstream(said).rdbuf();
  return text.str();
}

TEST_CASE("F14: a worker that the kernel's own killer took is host_oom", "[exec][process]") {
  const auto end = end_in_small_group(kHog);
  if (!end) {
    WARN("no control group with little memory can be made here");
    return;
  }
  CHECK(*end == "host_oom SIGKILL, and the kernel killed 1 process of this control group for memory meanwhile");
}

TEST_CASE("F14: a worker whose child the kernel's own killer took does not pass by exiting with 0", "[exec][process]") {
  const auto end = end_in_small_group("(" + std::string(kHog) + ")");
  if (!end) {
    WARN("no control group with little memory can be made here");
    return;
  }
  CHECK(Catch::StartsWith("host_oom exit code 0, but the kernel killed 1 process of this control group").match(*end));
}

TEST_CASE("in a group with little memory, a worker that needs less completes", "[exec][process]") {
  const auto end = end_in_small_group(":");
  if (end) CHECK(*end == "completed exit code 0");
}

}  // namespace
}  // namespace reprobench
