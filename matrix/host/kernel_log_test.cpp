#include "matrix/host/kernel_log.hpp"

#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

TEST_CASE("an Xid is read from the kernel's line, by PCI address and number", "[host]") {
  const auto xid = parse_kernel_xid("4,1234,98765,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen");
  REQUIRE(xid);
  CHECK(xid->pci == "0000:3b:00");
  CHECK(xid->number == 79);
  for (const char* other : {"", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module", "NVRM: Xid (PCI:0000:3b:00): ",
                            "NVRM: Xid (PCI:0000:3b:00", "NVRM: Xid (PCI:0000:3b:00): many",
                            "NVRM: Xid (PCI:0000:3b:00): 99999999999999999999", "Xid (PCI:0000:3b:00): 79"}) {
    INFO(other);
    CHECK_FALSE(parse_kernel_xid(other));
  }
}

TEST_CASE("NVML's bus id and the kernel's name the same card", "[host]") {
  CHECK(kernel_pci("00000000:3B:00.0") == "0000:3b:00");
  CHECK(kernel_pci("0000:3b:00.0") == "0000:3b:00");
  CHECK(kernel_pci("00000001:AF:00.0") == "0001:af:00");
  CHECK(kernel_pci("").empty());
}

TEST_CASE("only what the kernel writes from now on counts, and half a line waits for its other half", "[host]") {
  const TemporaryFolder folder;
  const auto path = folder.path / "kmsg";
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
}

// As the kernel's own device does, a pipe with a writer has nothing to read rather than an end.
TEST_CASE("a log that has nothing new is left, and gives what comes later", "[host]") {
  const TemporaryFolder folder;
  const auto path = folder.path / "kmsg";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  KernelLog log(path);
  std::ofstream writer(path);
  CHECK(log.new_xids().empty());
  for (int i = 0; i < 300; ++i)
    writer << "NVRM: Xid (PCI:0000:3b:00): " << i << ", pid=1\n";  // more than one read takes
  writer.flush();
  const auto xids = log.new_xids();
  REQUIRE(xids.size() == 300);
  for (int i = 0; i < 300; ++i) CHECK(xids[i].number == i);
  CHECK(log.new_xids().empty());
}

}  // namespace
}  // namespace reprobench
