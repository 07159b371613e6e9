#include "matrix/exec/shepherd/log_keeper.hpp"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace reprobench {

void LogKeeper::write_out(const char* bytes, size_t count) {
  while (count > 0 && !write_failed_) {
    const ssize_t written = write(file_, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    // A full disk must not stop the worker: the rest of the log is dropped and the failure reported.
    if (written < 0) {
      write_failed_ = true;
      return;
    }
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

void LogKeeper::take(const char* bytes, size_t count) {
  total_ += static_cast<int64_t>(count);
  const size_t to_head = count < half_ - head_ ? count : half_ - head_;
  write_out(bytes, to_head);
  head_ += to_head;
  bytes += to_head;
  count -= to_head;
  while (count > 0) {
    const size_t at = tail_fill_ % half_;
    const size_t part = count < half_ - at ? count : half_ - at;
    memcpy(tail_ + at, bytes, part);
    tail_fill_ += part;
    bytes += part;
    count -= part;
  }
}

void LogKeeper::finish() {
  if (tail_fill_ <= half_) {
    write_out(tail_, tail_fill_);
    return;
  }
  char note[80];
  const int length =
      snprintf(note, sizeof note, "\n[%llu bytes left out]\n", static_cast<unsigned long long>(tail_fill_ - half_));
  write_out(note, static_cast<size_t>(length));
  const size_t oldest = tail_fill_ % half_;
  write_out(tail_ + oldest, half_ - oldest);
  write_out(tail_, oldest);
}

}  // namespace reprobench
