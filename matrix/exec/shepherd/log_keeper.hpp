// Keeps the head and the tail of a stream that may be endless. A worker that prints a gigabyte fills neither the disk
// nor any memory, and is never blocked.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace reprobench {

class LogKeeper {
 public:
  // `file` is where the log goes. `cap_bytes` is for head and tail together; `tail_buffer` holds half of it.
  LogKeeper(int file, size_t cap_bytes, char* tail_buffer) : file_(file), half_(cap_bytes / 2), tail_(tail_buffer) {}

  void take(const char* bytes, size_t count);

  // Writes how much was left out, in words, and the tail.
  void finish();

  int64_t total_bytes() const { return total_; }
  bool write_failed() const { return write_failed_; }

 private:
  void write_out(const char* bytes, size_t count);

  int file_;
  size_t half_;
  char* tail_;  // ring; the next byte goes to tail_fill_ % half_
  uint64_t tail_fill_ = 0;
  size_t head_ = 0;
  int64_t total_ = 0;
  bool write_failed_ = false;
};

}  // namespace reprobench
