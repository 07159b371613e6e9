#include "matrix/host/kernel_log.hpp"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("an Xid is read from the kernel's line, by PCI address and number", "[host]") {
  const auto xid = parse_kernel_xid("4,1234,98765,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen");
  REQUIRE(xid);
  CHECK(xid->pci == "0000:3b:00");
  CHECK(xid->number == 79);
  for (const char* other : {"", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module", "NVRM: Xid (PCI:0000:3b:00): ",
                            "NVRM: Xid (PCI:0000:3b:00", "NVRM: Xid (PCI:0000:3b:00): many"}) {
    INFO(other);
    CHECK_FALSE(parse_kernel_xid(other));
  }
}

TEST_CASE("NVML's bus id and the kernel's name the same card", "[host]") {
  CHECK(kernel_pci("00000000:3B:00.0") == "0000:3b:00");
  CHECK(kernel_pci("0000:3b:00.0") == "0000:3b:00");
  CHECK(kernel_pci("").empty());
}

TEST_CASE("only what the kernel writes from now on counts, and half a line waits for its other half", "[host]") {
  const auto path = std::filesystem::temp_directory_path() / ("reprobench-kmsg-" + std::to_string(getpid()));
  std::ofstream file(path);
  file << "NVRM: Xid (PCI:0000:3b:00): 31, pid=1\n" << std::flush;
  KernelLog log(path);
  CHECK(log.new_xids().empty());
  file << "NVRM: Xid (PCI:0000:5e:00): 4" << std::flush;
  CHECK(log.new_xids().empty());
  file << "8, pid=1\n" << std::flush;
  const auto xids = log.new_xids();
  REQUIRE(xids.size() == 1);
  CHECK(xids[0].number == 48);
  CHECK(KernelLog("/no/such/log").new_xids().empty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace reprobench
