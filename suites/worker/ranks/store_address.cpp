#include "suites/worker/ranks/store_address.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenTries{50};

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& address, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) throw std::runtime_error("address " + address + ": " + gai_strerror(error));
  return {found, &freeaddrinfo};
}

// 0, or what the system says of it.
int connection_error(const addrinfo& to, Steady::time_point deadline) {
  const FileDescriptor socket(::socket(to.ai_family, to.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to.ai_protocol));
  if (!socket.is_open()) return errno;
  if (connect(socket.get(), to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd connected{socket.get(), POLLOUT, 0};
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Steady::now());
  if (poll(&connected, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

void await_listener(const std::string& address, int port, milliseconds patience) {
  const auto deadline = Steady::now() + patience;
  const Addresses addresses = addresses_of(address, port);
  for (;;) {
    int error = 0;
    for (const addrinfo* to = addresses.get(); to != nullptr; to = to->ai_next) {
      error = connection_error(*to, deadline);
      if (error == 0) return;
    }
    if (Steady::now() >= deadline) {
      throw std::runtime_error("nobody listens at " + address + ":" + std::to_string(port) + ": " +
                               std::generic_category().message(error));
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace reprobench
