// What a command inside an image can see and do: asked of the program itself, with this host's own programs bound in.
#include <fstream>
#include <iterator>
#include <sstream>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "matrix/exec/enclosure/spine.hpp"
#include "matrix/exec/process_scene.hpp"
#include "matrix/exec/process_spawn.hpp"
#include "matrix/exec/subprocess.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using Catch::StartsWith;

const fs::path kEnclosure = fs::path(REPROBENCH_BINARY_DIR) / "reprobench-enclosure";

// A root with one file, and a folder of this host to write to.
struct EnclosureScene {
  EnclosureScene() {
    fs::create_directories(root() / "etc");
    fs::create_directories(folder.path / "attempt");
    std::ofstream(root() / "etc/of-image") << "of the image\n";
    std::ofstream(folder.path / "secret") << "of the host\n";
  }

  fs::path root() const { return folder.path / "root"; }
  fs::path attempt() const { return folder.path / "attempt"; }

  Enclosure enclosure() const {
    Enclosure enclosure{.program = kEnclosure, .shepherd = kShepherd, .root = root(), .readable = {}};
    for (const char* path : {"/usr", "/bin", "/lib", "/lib64"}) {
      if (fs::exists(path)) enclosure.readable.emplace_back(path);
    }
    return enclosure;
  }

  std::vector<std::string> command(const std::string& script, int network_of = 0) const {
    return enclosed_command(enclosure(), {.readable = {}, .writable = {attempt()}}, network_of,
                            {"/bin/sh", "-c", script});
  }

  SubprocessResult run(const std::string& script) const {
    return run_subprocess({.command = command(script), .timeout = seconds(30)});
  }

  pid_t start(const std::string& script, int network_of = 0) const {
    SpawnRequest request;
    request.command = command(script, network_of);
    return spawn_process(request);
  }

  TemporaryFolder folder;
};

// An enclosure needs root or a user namespace. Where there is neither, that is what is said, and nothing else is asked.
bool is_possible_here() {
  const SubprocessResult result = EnclosureScene().run("exit 0");
  if (result.exit_code == 0) return true;
  CHECK(result.exit_code == 71);
  CHECK_THAT(result.err, Contains("reprobench-enclosure: a user namespace"));
  return false;
}

std::string lines_with(const std::string& text, const std::string& word) {
  std::istringstream stream(text);
  std::string found;
  for (std::string line; std::getline(stream, line);) {
    if (contains(line, word)) found += line + "\n";
  }
  return found;
}

TEST_CASE("inside is the image, and of the host only what is named", "[exec][process]") {
  if (!is_possible_here()) return;
  const EnclosureScene scene;
  const auto seen = scene.run("cat /etc/of-image; ls /; ls " + scene.folder.path.string() + "; cat " +
                              (scene.folder.path / "secret").string() + "; ls /home /root " + std::string(kHostPlace));
  CHECK_THAT(seen.out, StartsWith("of the image\n"));
  CHECK_THAT(seen.out, Contains("\nattempt\n") && !Contains("secret"));
  CHECK_THAT(seen.err, Contains("secret: No such file") && Contains("'/home': No such file") &&
                           Contains("'/.reprobench-host': No such file"));
}

TEST_CASE("only the folder that is named for it can be written to, and what lies there is the host's",
          "[exec][process]") {
  if (!is_possible_here()) return;
  const EnclosureScene scene;
  const auto written = scene.run(
      "for f in /new /etc/new /etc/of-image /usr/new /proc/sys/kernel/printk /proc/sysrq-trigger /dev/new /sys/new "
      "/sys/devices/system/cpu/new; do echo 1 >$f && echo \"wrote $f\"; done; echo 1 >/tmp/new && echo 1 >/dev/shm/new "
      "&& "
      "echo 1 >/dev/null && echo 1 >" +
      (scene.attempt() / "new").string() + " && echo wrote the rest");
  CHECK(written.out == "wrote the rest\n");
  CHECK(fs::exists(scene.attempt() / "new"));
  std::ifstream kept(scene.root() / "etc/of-image");
  std::string line;
  std::getline(kept, line);
  CHECK(line == "of the image");
  CHECK_FALSE(fs::exists("/tmp/new"));
}

TEST_CASE("#41: no file grows beyond its bound inside", "[exec][process]") {
  if (!is_possible_here()) return;
  const EnclosureScene scene;
  const auto run = [&](std::int64_t file_bytes) {
    Enclosure enclosure = scene.enclosure();
    enclosure.file_bytes = file_bytes;
    const std::string file = (scene.attempt() / "large").string();
    fs::remove(file);
    return run_subprocess({.command = enclosed_command(enclosure, {.readable = {}, .writable = {scene.attempt()}}, 0,
                                                       {"/bin/sh", "-c", "head -c 1000000 /dev/zero >" + file})})
        .exit_code;
  };
  CHECK(run(0) == 0);
  CHECK(fs::file_size(scene.attempt() / "large") == 1'000'000);
  CHECK(run(500'000) != 0);
  CHECK(fs::file_size(scene.attempt() / "large") == 500'000);
}

TEST_CASE("#41: what is written to memory inside is bounded", "[exec][process]") {
  if (!is_possible_here()) return;
  const auto sizes = EnclosureScene().run("df -B1 --output=size /tmp /dev/shm | tail -n 2 | tr -d ' '");
  CHECK(sizes.out == "1073741824\n1073741824\n");
}

TEST_CASE("#41: what runs inside is what the kernel ends first where a host has no memory left", "[exec][process]") {
  if (!is_possible_here()) return;
  CHECK(EnclosureScene().run("cat /proc/self/oom_score_adj").out == "1000\n");
}

TEST_CASE("inside there is no capability, no way to one, no network, and no other process", "[exec][process]") {
  if (!is_possible_here()) return;
  const EnclosureScene scene;
  const auto seen = scene.run(
      "cat /proc/self/status /proc/net/dev; ls -d /proc/[0-9]*; echo $$; mount -t tmpfs none /tmp; cat "
      "/proc/sys/kernel/hostname; ls /dev");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    CHECK(lines_with(seen.out, set) == std::string(set) + ":\t0000000000000000\n");
  }
  CHECK(lines_with(seen.out, "NoNewPrivs") == "NoNewPrivs:\t1\n");
  CHECK_THAT(lines_with(seen.out, ":"), Contains("    lo:"));
  for (const char* device : {"eth", "enp", "wlan", "docker", "veth"}) CHECK(lines_with(seen.out, device).empty());
  CHECK_THAT(seen.out, Contains("\n/proc/1\n1\n"));  // alone, and that is what it is itself
  CHECK_THAT(seen.out, Contains("\nlocalhost\n"));
  CHECK_THAT(seen.out, Contains("fd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n"));
  CHECK_THAT(seen.err, Contains("mount:"));
}

// /dev/tty stands for a GPU's node: it opens, or its driver says that there is no terminal.
TEST_CASE("a device that is handed in is the host's, with all of /sys, and the driver's libraries are in their place",
          "[exec][process]") {
  if (!is_possible_here()) return;
  const EnclosureScene scene;
  Enclosure enclosure = scene.enclosure();
  const auto seen = [&] {
    return run_subprocess(
        {.command = enclosed_command(
             enclosure, {.readable = {}, .writable = {scene.attempt()}}, 0,
             {"/bin/sh", "-c",
              "ls /dev /.reprobench-driver; ls -d /sys/bus /sys/class; test -c /dev/tty && echo a node; (: </dev/tty); "
              "echo x >/.reprobench-driver/new; echo x >/sys/new; "
              "cat /.reprobench-driver/libcuda.so.1"}),
         .timeout = seconds(30)});
  };
  fs::create_directories(scene.root() / "dev");
  std::ofstream(scene.root() / "dev/tty") << "of the image";
  const auto without = seen();
  CHECK_THAT(without.out, !Contains("tty") && !Contains("/sys/class"));
  CHECK_THAT(without.err, Contains("'/.reprobench-driver': No such file"));

  const fs::path library = scene.folder.path / "libcuda.so.580.1";
  std::ofstream(library) << "the driver\n";
  fs::create_symlink("libcuda.so.580.1", scene.folder.path / "libcuda.so.1");
  enclosure.gpu = {.devices = {"/dev/tty"}, .libraries = {scene.folder.path / "libcuda.so.1", library}};
  const auto with = seen();
  CHECK_THAT(with.out, Contains("\ntty\n") && Contains("/.reprobench-driver:\nlibcuda.so.1\nlibcuda.so.580.1\n"));
  CHECK_THAT(with.out, Contains("/sys/class\n") && Contains("the driver\n") && !Contains("secret"));
  CHECK_THAT(with.out, Contains("a node\n"));
  CHECK_THAT(lines_with(with.err, "tty"), !Contains("denied"));  // as a node of a file system without devices would be
  CHECK_THAT(with.err, Contains("driver/new: Read-only file system") && Contains("/sys/new:"));
  CHECK_FALSE(fs::exists(scene.root() / ".reprobench-driver"));
}

TEST_CASE("the exit code of the command is the enclosure's, and a signal that ends it ends the enclosure",
          "[exec][process]") {
  if (!is_possible_here()) return;
  const EnclosureScene scene;
  CHECK(scene.run("exit 7").exit_code == 7);
  // PID 1 is deaf to its own signals, so it is ended from outside.
  const std::string name = "sleep 4711.25";
  const pid_t outside = scene.start("exec " + name);
  std::vector<pid_t> inside;
  REQUIRE(becomes_true([&] {
    inside = processes_naming(std::string("sleep\0", 6) + "4711.25");
    return inside.size() == 1;
  }));
  kill(inside.front(), SIGTERM);  // no handler, so nothing happens to PID 1 of a namespace
  kill(inside.front(), SIGKILL);
  int status = 0;
  REQUIRE(waitpid(outside, &status, 0) == outside);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("killing the enclosure ends all that runs inside, in sessions of their own too", "[exec][process]") {
  if (!is_possible_here()) return;
  const EnclosureScene scene;
  const pid_t outside = scene.start("setsid sleep 4712.25 & sleep 4712.25 & sleep 4712.25");
  const std::string needle = std::string("sleep\0", 6) + "4712.25";
  REQUIRE(becomes_true([&] { return processes_naming(needle).size() == 3; }));
  kill(outside, SIGKILL);
  waitpid(outside, nullptr, 0);
  CHECK(becomes_true([&] { return processes_naming(needle).empty(); }));
}

TEST_CASE("a rank joins the network of the first, and has everything else of its own", "[exec][process]") {
  if (!is_possible_here()) return;
  const EnclosureScene scene;
  const std::string told = "readlink /proc/self/ns/net /proc/self/ns/pid /proc/self/ns/mnt /proc/self/ns/ipc >";
  const auto said = [&](const char* file) {
    std::ifstream text(scene.attempt() / file);
    return std::vector<std::string>{std::istream_iterator<std::string>(text), {}};
  };
  const std::string done = (scene.attempt() / "done").string();
  const pid_t first =
      scene.start(told + (scene.attempt() / "first").string() + "; while [ ! -e " + done + " ]; do sleep 0.05; done");
  const pid_t second = scene.start(told + (scene.attempt() / "second").string(), static_cast<int>(first));
  int status = -1;
  waitpid(second, &status, 0);
  CHECK(status == 0);
  REQUIRE(becomes_true([&] { return said("first").size() == 4; }));
  std::ofstream(scene.attempt() / "done") << "";
  waitpid(first, nullptr, 0);
  REQUIRE(said("second").size() == 4);
  CHECK(said("first")[0] == said("second")[0]);
  for (std::size_t i = 1; i < 4; ++i) CHECK(said("first")[i] != said("second")[i]);
  // One that is gone has no network that could be joined.
  const auto late = run_subprocess({.command = scene.command("exit 0", static_cast<int>(first))});
  CHECK(late.exit_code == 71);
}

TEST_CASE("what cannot be made is said in one line, and the command does not run", "[exec][process]") {
  const EnclosureScene scene;
  const auto said = [](std::vector<std::string> command) {
    command.insert(command.begin(), kEnclosure.string());
    return run_subprocess({.command = command});
  };
  CHECK(said({"--root", "/"}).exit_code == 64);
  CHECK(said({"--root", scene.root().string()}).exit_code == 64);
  CHECK(said({"--root", "/", "--", "/bin/true"}).exit_code == 64);
  CHECK(said({"--"}).exit_code == 64);
  CHECK(said({"--root", "/nowhere", "--", "/bin/true"}).err ==
        "reprobench-enclosure: /nowhere: No such file or directory\n");
  CHECK(said({"--root", scene.root().string(), "--read", "/nowhere", "--", "/x"}).err ==
        "reprobench-enclosure: /nowhere: No such file or directory\n");
  CHECK(said({"--root", scene.root().string(), "--read", "/proc/self", "--", "/x"}).err ==
        "reprobench-enclosure: /proc/self lies in /proc, which is new inside\n");
  for (const char* path : {"/etc/passwd", "/dev/../etc/passwd", "/devices"}) {
    CHECK(said({"--root", scene.root().string(), "--device", path, "--", "/x"}).err ==
          std::string("reprobench-enclosure: ") + path + " does not lie in /dev\n");
  }
  if (!is_possible_here()) return;
  CHECK(said({"--root", scene.root().string(), "--device", "/dev/nowhere", "--", "/x"}).err ==
        "reprobench-enclosure: /dev/nowhere: No such file or directory\n");
  CHECK(said({"--root", scene.root().string(), "--driver", "/nowhere/libcuda.so.1", "--", "/x"}).err ==
        "reprobench-enclosure: /nowhere/libcuda.so.1: No such file or directory\n");
  const auto missing = said({"--root", scene.root().string(), "--", "/bin/true"});
  CHECK(missing.exit_code == 71);
  CHECK(missing.err == "reprobench-enclosure: cannot execute /bin/true: No such file or directory\n");
}

TEST_CASE("an attempt runs inside an image as it does outside: files, exit record and leaks", "[exec][process]") {
  if (!is_possible_here()) return;
  const EnclosureScene images;
  const auto run = [&](const std::string& behaviour) {
    ProcessScene scene;
    scene.limits.total = seconds(3);
    WorkerCommand worker{{kFakeWorker}, {"--do", behaviour}, {}};
    worker.enclosure = images.enclosure();
    worker.enclosure->readable.emplace_back(kFakeWorker);
    scene.workers.emplace(behaviour, worker);
    const auto records = scene.run({behaviour});
    CHECK(processes_naming(scene.store.path.string()).empty());
    return records.at(0).attempts.at(0);
  };
  CHECK(run("ok").end == AttemptEnd::completed);
  CHECK(run("crash").end == AttemptEnd::crash);
  CHECK(run("hang").end == AttemptEnd::timeout);
  CHECK(run("leak").end == AttemptEnd::leaked);
}

}  // namespace
}  // namespace reprobench
