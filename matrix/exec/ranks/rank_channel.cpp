#include "matrix/exec/ranks/rank_channel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include <sys/socket.h>
#include <sys/un.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/plain_sha256.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/writer.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kLargestMessageBytes = std::size_t{256} << 10;

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
};

// In the abstract namespace (unix(7)): no file, so none is left behind.
Address address_of(const std::string& launch) {
  const std::string text = "reprobench." + std::to_string(geteuid()) + "." + plain_sha256_of_text(launch).substr(0, 32);
  Address address;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path + 1, text.data(), text.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

FileDescriptor new_socket(int flags = 0) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  if (!socket.is_open()) throw std::system_error(errno, std::generic_category(), "socket");
  return socket;
}

ucred credentials_of(int socket) {
  ucred credentials{-1, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  socklen_t length = sizeof credentials;
  getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length);
  return credentials;
}

// Who listens gives commands, and who joins is given them: neither may be another user.
bool is_ours(int socket) { return credentials_of(socket).uid == geteuid(); }

}  // namespace

pid_t RankChannel::peer() const { return credentials_of(socket_.get()).pid; }

bool RankChannel::send(const RankMessage& message) {
  if (!is_open()) return false;
  const std::string text = written(message).dump();
  const bool fits = text.size() <= kLargestMessageBytes;
  if (fits && ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
  const bool may_have_left_word = fits && errno == EPIPE;
  if (!may_have_left_word) socket_.reset();
  return false;
}

void RankChannel::send_last(const RankMessage& message) {
  send(message);
  if (!is_open()) return;
  shutdown(socket_.get(), SHUT_RD);
  char unread = 0;
  while (recv(socket_.get(), &unread, sizeof unread, MSG_DONTWAIT) > 0) {
  }
  socket_.reset();
}

std::optional<RankMessage> RankChannel::receive() {
  if (!is_open()) return std::nullopt;
  const ssize_t bytes = recv(socket_.get(), nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  std::string text(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)), '\0');
  if (bytes <= 0 || text.size() > kLargestMessageBytes ||
      recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT) != bytes) {
    socket_.reset();
    return std::nullopt;
  }
  try {
    RankMessage message;
    read_fields_of(json_or_discarded(text), "rank_message",
                   [&](auto& field) { Description<RankMessage>::fields(field, message); });
    return message;
  } catch (const std::exception&) {
    socket_.reset();
    return std::nullopt;
  }
}

FileDescriptor listen_for_ranks(const std::string& launch) {
  const Address address = address_of(launch);
  FileDescriptor socket = new_socket(SOCK_NONBLOCK);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.name), address.length) != 0) {
    if (errno == EADDRINUSE) throw UsageError("--join: another process is rank 0 of this launch (" + launch + ")");
    throw std::system_error(errno, std::generic_category(), "bind");
  }
  if (listen(socket.get(), SOMAXCONN) != 0) throw std::system_error(errno, std::generic_category(), "listen");
  return socket;
}

std::optional<RankChannel> connect_to_rank_0(const std::string& launch) {
  const Address address = address_of(launch);
  FileDescriptor socket = new_socket();
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.name), address.length) != 0) return std::nullopt;
  if (!is_ours(socket.get())) return std::nullopt;
  return RankChannel(std::move(socket));
}

std::optional<RankChannel> accept_rank(const FileDescriptor& listener) {
  for (;;) {
    FileDescriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_open()) return std::nullopt;
    if (is_ours(socket.get())) return RankChannel(std::move(socket));
  }
}

}  // namespace reprobench
