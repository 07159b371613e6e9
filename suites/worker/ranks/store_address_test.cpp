#include "suites/worker/ranks/store_address.hpp"

#include <chrono>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "ci/catch.hpp"
#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;

// A port of this host; nobody listens there before listen().
class BoundPort {
 public:
  BoundPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    number_ = ntohs(address.sin_port);
  }
  int number() const { return number_; }
  void open() const { ::listen(socket_.get(), 4); }

 private:
  FileDescriptor socket_;
  int number_ = 0;
};

TEST_CASE("an address at which nobody listens is given up when the patience is over, and not later", "[ranks]") {
  const BoundPort port;
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(await_listener("127.0.0.1", port.number(), milliseconds(300)),
                    "nobody listens at 127.0.0.1:" + std::to_string(port.number()) + ": Connection refused");
  const auto took = std::chrono::steady_clock::now() - began;
  CHECK(took >= milliseconds(300));
  CHECK(took < milliseconds(3'000));
}

TEST_CASE("who opens its store later than another rank looks for it is waited for", "[ranks]") {
  const BoundPort port;
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(200));
    port.open();
  });
  CHECK_NOTHROW(await_listener("localhost", port.number(), milliseconds(20'000)));
  late.join();
}

TEST_CASE("an address without a meaning is said at once", "[ranks]") {
  CHECK_THROWS_WITH(await_listener("no host has this name", 1, milliseconds(60'000)),
                    Catch::StartsWith("address no host has this name: "));
}

}  // namespace
}  // namespace reprobench
