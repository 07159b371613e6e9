// Messages between the processes that an outer launcher started. Each holds one end of a socket to rank 0, which
// coordinates. It carries only orders and their echo; the results of an attempt are files, as always. A socket is used
// because its end tells at once that a process is gone, and because nothing of it outlives them. So there is no stale
// one to join.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

namespace reprobench {

enum class RankMessageKind {
  join,       // to rank 0, first: who it is
  launch,     // from rank 0: start your rank of this attempt
  terminate,  // from rank 0: and stop it
  kill,
  finish,   // from rank 0, last: leave with this exit code
  started,  // to rank 0: what happened to the attempt's rank (launcher.hpp)
  heartbeat,
  ended,
  not_stored,   // ended, and exit.json could not be written
  not_started,  // ended, because it could not be started
};
template <>
struct Words<RankMessageKind> {
  static constexpr std::array<std::string_view, 10> table = {
      "join", "launch", "terminate", "kill", "finish", "started", "heartbeat", "ended", "not_stored", "not_started"};
};

struct RankMessage {
  RankMessageKind kind = RankMessageKind::join;
  std::string version = {};  // of a join: kProjectVersion, which must be that of rank 0
  int rank = 0;              // of a join and a launch
  int ranks = 0;             // of a join
  std::int64_t handle = 0;   // of messages about an attempt: rank 0's
  std::string nonce = {};    // of a launch: as RankLaunch has them
  std::string folder = {};
  std::vector<std::string> command = {};
  std::map<std::string, std::string> environment = {};
  std::int64_t grace_ms = 0;
  std::int64_t memory_kills = 0;  // of an end, as MemoryKills has them
  bool kills_of_host = false;
  int exit_code = 0;      // of a finish
  std::string text = {};  // of a finish: why
};

// Never stored, so it has no schema: both ends are the same program (`version`).
template <>
struct Description<RankMessage> {
  static constexpr About about = About::part("rank_message", "Between the processes of one launch.");
  static void fields(auto& field, RankMessage& message) {
    field("kind", message.kind);
    field.optional("version", message.version);
    field.optional("rank", message.rank);
    field.optional("ranks", message.ranks);
    field.optional("handle", message.handle);
    field.optional("nonce", message.nonce);
    field.optional("folder", message.folder);
    field.optional("command", message.command);
    field.optional("environment", message.environment);
    field.optional("grace_ms", message.grace_ms);
    field.optional("memory_kills", message.memory_kills);
    field.optional("kills_of_host", message.kills_of_host);
    field.optional("exit_code", message.exit_code);
    field.optional("text", message.text);
  }
};

// One end of a connection. A message is sent and received completely or not at all.
class RankChannel {
 public:
  RankChannel() = default;
  explicit RankChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  bool is_open() const { return socket_.is_open(); }
  int descriptor() const { return socket_.get(); }
  pid_t peer() const;  // the process at the other end, as the kernel knows it

  // False if the other end does not read; then it is closed. False too if the other end is gone; then it stays open
  // until receive() has returned its last messages.
  bool send(const RankMessage& message);

  // Sends a message and closes. Unread messages of the other end are discarded first. If one were left unread, the
  // kernel would give the other end an error in place of this message.
  void send_last(const RankMessage& message);

  // The next message, without waiting; nothing if none has come. Closes if the other end is gone or sends what is no
  // message.
  std::optional<RankMessage> receive();

 private:
  FileDescriptor socket_;
};

// Opens the address of a launch among this user's processes on this host. It is a name that disappears with the process
// that holds it. Throws UsageError if another process holds it.
FileDescriptor listen_for_ranks(const std::string& launch);

// Nothing if nobody listens there, or another user does. accept_rank() returns a rank that has come, or nothing at
// once.
std::optional<RankChannel> connect_to_rank_0(const std::string& launch);
std::optional<RankChannel> accept_rank(const FileDescriptor& listener);

}  // namespace reprobench
