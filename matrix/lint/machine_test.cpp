#include "matrix/lint/machine.hpp"

#include <filesystem>
#include <fstream>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a port that something listens on is taken, and free again after it", "[lint]") {
  FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(listener.get(), 1) == 0);
  socklen_t size = sizeof address;
  REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  CHECK(is_port_taken("localhost", port) == true);
  CHECK(is_port_taken("127.0.0.1", port) == true);
  CHECK(is_port_taken("", port) == true);
  CHECK(is_port_taken("::1", port) == true);
  std::string own_name(256, '\0');
  REQUIRE(gethostname(own_name.data(), own_name.size()) == 0);
  CHECK(is_port_taken(own_name.c_str(), port) == true);
  listener.reset();
  CHECK(is_port_taken("localhost", port) == false);
}

TEST_CASE("what is no port of this host is not asked", "[lint]") {
  for (const char* port : {"", "0", "65536", "29500x", "-1", "port"}) {
    CAPTURE(port);
    CHECK_FALSE(is_port_taken("localhost", port).has_value());
  }
  CHECK_FALSE(is_port_taken("another-host.example", "29500").has_value());
}

TEST_CASE("a port that this user may not hold is not said to be taken", "[lint]") {
  int first_free = 1024;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_free;
  if (first_free <= 1) return;  // every port is anybody's here
  std::optional<bool> is_taken = false;
  std::thread([&] {
    constexpr long kNobody = 65'534;
    syscall(SYS_setresuid, kNobody, kNobody, kNobody);  // of this thread alone
    is_taken = is_port_taken("localhost", "1");
  }).join();
  CHECK_FALSE(is_taken.has_value());
}

TEST_CASE("an offload folder is looked at through its links", "[lint]") {
  const TemporaryFolder place;
  const fs::path folder = fs::canonical(place.path);
  fs::create_directory_symlink(folder, folder / "link");
  const OffloadFolder found = look_at_folder((folder / "link").string());
  CHECK(found.is_folder);
  CHECK(found.is_writable);
  CHECK(found.resolved == folder.string());
  CHECK(found.free_bytes > 0);
  CHECK_FALSE(look_at_folder((folder / "gone").string()).is_folder);
  CHECK(look_at_folder((folder / "gone").string()).resolved.empty());
  const OffloadFolder memory = look_at_folder("/dev/shm");
  if (memory.is_folder) CHECK(memory.is_in_memory);
  CHECK_FALSE(look_at_folder("/proc").is_in_memory);
}

TEST_CASE("only the variables of a rendezvous are read", "[lint]") {
  const TemporaryVariable world("LOCAL_WORLD_SIZE", "3");
  const TemporaryVariable address("MASTER_ADDR", std::nullopt);
  const auto variables = rendezvous_environment();
  CHECK(variables.at("LOCAL_WORLD_SIZE") == "3");
  CHECK(variables.count("MASTER_ADDR") == 0);
  CHECK(variables.count("PATH") == 0);
}

}  // namespace
}  // namespace reprobench
