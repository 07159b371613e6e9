#include "matrix/base/available_memory.hpp"

#include <fstream>
#include <string>

#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

// A machine of files.
struct PretendedMachine {
  PretendedMachine() { write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 8000 kB\n"); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  std::int64_t available() const { return available_memory_below(root); }

  TemporaryFolder folder;
  std::filesystem::path root = folder.path;
};

TEST_CASE("what is available is what the kernel says, where no control group has a limit", "[contract]") {
  const PretendedMachine machine;
  CHECK(machine.available() == 8000 * 1024);
  machine.write("sys/fs/cgroup/memory.max", "max\n");
  machine.write("sys/fs/cgroup/memory.current", "123\n");
  CHECK(machine.available() == 8000 * 1024);
}

TEST_CASE("a control group's limit bounds it, by what is used and not merely cached", "[contract]") {
  const PretendedMachine machine;
  machine.write("sys/fs/cgroup/memory.max", "1000000\n");
  machine.write("sys/fs/cgroup/memory.current", "700000\n");
  CHECK(machine.available() == 300'000);
  machine.write("sys/fs/cgroup/memory.stat", "anon 100000\nfile 600000\ninactive_file 500000\nactive_file 100000\n");
  CHECK(machine.available() == 800'000);
  machine.write("sys/fs/cgroup/memory.current", "1700000\n");
  CHECK(machine.available() == 0);
}

TEST_CASE("the group of the process and every one that holds it are asked", "[contract]") {
  const PretendedMachine machine;
  machine.write("proc/self/cgroup", "0::/runner/job\n");
  machine.write("sys/fs/cgroup/runner/memory.max", "500000\n");
  machine.write("sys/fs/cgroup/runner/memory.current", "100000\n");
  machine.write("sys/fs/cgroup/runner/job/memory.max", "max\n");
  machine.write("sys/fs/cgroup/runner/job/memory.current", "90000\n");
  CHECK(machine.available() == 400'000);
  machine.write("sys/fs/cgroup/runner/job/memory.max", "200000\n");
  CHECK(machine.available() == 110'000);
}

TEST_CASE("a kernel that says nothing is an error, not a machine without memory", "[contract]") {
  const PretendedMachine machine;
  machine.write("proc/meminfo", "MemTotal: 9000 kB\n");
  CHECK_THROWS_WITH(machine.available(), "/proc/meminfo has no MemAvailable");
}

}  // namespace
}  // namespace reprobench
