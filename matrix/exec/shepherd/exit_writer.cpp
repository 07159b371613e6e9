#include "matrix/exec/shepherd/exit_writer.hpp"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

constexpr const char* kTemporaryName = ".exit.json.tmp";

// `text` between the quotes of a JSON string. Bytes outside ASCII become `?`: a path need not be UTF-8.
void escape(const char* text, char* escaped, size_t size) {
  size_t used = 0;
  for (; *text != '\0' && used + 3 < size; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (byte == '"' || byte == '\\') escaped[used++] = '\\';
    escaped[used++] = byte < 0x20 || byte >= 0x7f ? '?' : *text;
  }
  escaped[used] = '\0';
}

void format_optional(bool is_set, int value, char* text, size_t size) {
  if (is_set) {
    snprintf(text, size, "%d", value);
  } else {
    snprintf(text, size, "null");
  }
}

}  // namespace

size_t format_exit_account(const ExitAccount& account, char* text, size_t size) {
  char nonce[128];
  char launch_error[2048];
  char exit_code[16];
  char signal[16];
  escape(account.nonce, nonce, sizeof nonce);
  escape(account.launch_error, launch_error, sizeof launch_error);
  format_optional(account.exit_code >= 0, account.exit_code, exit_code, sizeof exit_code);
  format_optional(account.signal > 0, account.signal, signal, sizeof signal);
  const int length = snprintf(
      text, size,
      "{\"schema\":\"reprobench/"
      "exit\",\"version\":{\"major\":%d,\"minor\":%d},\"nonce\":\"%s\",\"rank\":%d,\"exit_code\":%s,"
      "\"signal\":%s,\"launch_error\":\"%s\",\"stopped_by\":\"%s\",\"leaked_processes\":%d,\"duration_ns\":%" PRId64
      ",\"max_rss_bytes\":%" PRId64 ",\"user_ns\":%" PRId64 ",\"system_ns\":%" PRId64 ",\"stdout_bytes\":%" PRId64
      ",\"stderr_bytes\":%" PRId64 "}\n",
      kContractVersion.major, kContractVersion.minor, nonce, account.rank, exit_code, signal, launch_error,
      account.stopped_by, account.leaked_processes, account.duration_ns, account.max_rss_bytes, account.user_ns,
      account.system_ns, account.stdout_bytes, account.stderr_bytes);
  return length < 0 || static_cast<size_t>(length) >= size ? 0 : static_cast<size_t>(length);
}

// Not synced: after a power loss the attempt has no valid record, counts as lost and is run again.
int write_exit_account(const ExitAccount& account) {
  char text[4096];
  const size_t length = format_exit_account(account, text, sizeof text);
  unlink(kTemporaryName);
  const int fd = open(kTemporaryName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  const ssize_t written = write(fd, text, length);
  const int error = written == static_cast<ssize_t>(length) ? 0 : written < 0 ? errno : ENOSPC;
  close(fd);
  if (error == 0 && rename(kTemporaryName, "exit.json") == 0) return 0;
  const int failure = error != 0 ? error : errno;
  unlink(kTemporaryName);
  return failure;
}

}  // namespace reprobench
