// F14: whom the kernel killed for memory, by its counters, with and without control groups; and what follows for a
// rank.
#include "matrix/exec/memory_kills.hpp"

#include "matrix/evidence/run_record.hpp"
#include "matrix/exec/process_scene.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// The fake worker, after it has done something else.
std::string script(const fs::path& path, const std::string& first) {
  write(path, "#!/bin/sh\n" + first + "\nexec " + kFakeWorker + " \"$@\"\n");
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST_CASE("#41: kills are those of this process's group, of either version, else of the host", "[exec]") {
  const TemporaryFolder root;
  CHECK(memory_kills(root.path).count == 0);
  write(root.path / "proc/vmstat", "nr_free_pages 12\noom_kill 3\nballoon 4\n");
  CHECK(memory_kills(root.path).count == 3);
  CHECK(memory_kills(root.path).of_host);
  const fs::path mount = root.path / "sys/fs/cgroup";
  SECTION("version 1") {
    write(root.path / "proc/self/cgroup", "9:name=systemd:/\n4:memory:/a/b\n0::/\n");
    write(mount / "memory/a/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  }
  SECTION("version 2") {
    write(root.path / "proc/self/cgroup", "0::/a.scope\n");
    write(mount / "a.scope/memory.events", "low 0\nhigh 9\nmax 8\noom 7\noom_kill 5\noom_group_kill 2\n");
  }
  SECTION("a container that sees its own group alone") {
    write(root.path / "proc/self/cgroup", "0::/of/the/host\n");
    write(mount / "memory.events", "oom 7\noom_kill 5\n");
  }
  CHECK(memory_kills(root.path).count == 5);
  CHECK_FALSE(memory_kills(root.path).of_host);
}

// A worker that counts a kill in a file of the kernel's, as the kernel would, and then does as told.
struct KernelFiles {
  TemporaryFolder root;
};
struct KernelScene : KernelFiles, ProcessScene {
  explicit KernelScene(const std::string& counters) : ProcessScene(root.path) {
    if (counters != "vmstat") write(root.path / "proc/self/cgroup", "0::/\n");
    file_of_kernel = root.path / (counters == "vmstat" ? "proc/vmstat" : "sys/fs/cgroup/memory.events");
    write(file_of_kernel, "oom_kill 2\n");
  }
  AttemptRecord end_with_kill(const std::string& behaviour) {
    const std::string first = "echo oom_kill 3 >" + file_of_kernel.string();
    workers[behaviour] = {{script(root.path / "worker", first)}, {"--do", behaviour}, {}};
    return end_of(behaviour);
  }

  fs::path file_of_kernel;
};

TEST_CASE("F14: a worker that the kernel killed for memory is no crash, and still none when the run is read again",
          "[exec][process]") {
  const auto [counters, whose] =
      GENERATE(table<std::string, std::string>({{"group", "of this control group"}, {"vmstat", "of this host"}}));
  KernelScene scene(counters);
  const AttemptRecord attempt = scene.end_with_kill("crash=9");
  CHECK(attempt.end == AttemptEnd::host_oom);
  CHECK(attempt.detail == "SIGKILL, and the kernel killed 1 process " + whose + " for memory meanwhile; last step 3");
  const RunRecord read_again = load_run(scene.folder.string());
  CHECK(read_again.cells[0].attempts[0].end == AttemptEnd::host_oom);
  CHECK(read_again.cells[0].attempts[0].detail == attempt.detail);
}

TEST_CASE("F14: a worker that exits with 0 does not pass when a process of its group was killed for memory",
          "[exec][process]") {
  KernelScene scene("group");
  const AttemptRecord attempt = scene.end_with_kill("ok");
  CHECK(attempt.end == AttemptEnd::host_oom);
  CHECK(contains(attempt.detail, "exit code 0, but the kernel killed 1 process of this control group for memory"));
}

TEST_CASE("a kill elsewhere on the host, or beside a crash, blames nobody else", "[exec][process]") {
  CHECK(KernelScene("vmstat").end_with_kill("ok").end == AttemptEnd::completed);
  CHECK(KernelScene("group").end_with_kill("crash=11").end == AttemptEnd::crash);
  CHECK(KernelScene("group").end_with_kill("exit=3").end == AttemptEnd::nonzero);
  CHECK(KernelScene("group").end_of("crash=9").end == AttemptEnd::crash);
}

// Stopped in its first breath, before a first heartbeat.
struct StoppedScene : ProcessScene {
  AttemptRecord end_when_stopped(const std::string& whom) {
    limits = {std::chrono::seconds(2), std::chrono::seconds(2), std::chrono::seconds(20),
              std::chrono::milliseconds(300)};
    workers["hang"] = {{script(tools.path / "worker", "kill -STOP " + whom)}, {"--do", "hang"}, {}};
    return end_of("hang");
  }

  TemporaryFolder tools;
};

TEST_CASE("F16: a worker that somebody stopped is said to be stopped, and none of its processes is left",
          "[exec][process]") {
  const AttemptRecord attempt = StoppedScene().end_when_stopped("$$");
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(contains(attempt.detail, "a process of it is stopped"));
}

TEST_CASE("F16: a shepherd that somebody stopped is woken, and no process is left behind", "[exec][process]") {
  const AttemptRecord attempt = StoppedScene().end_when_stopped("$PPID");
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(contains(attempt.detail, "a process of it is stopped"));
  CHECK_FALSE(contains(attempt.detail, "left behind"));
}

}  // namespace
}  // namespace reprobench
