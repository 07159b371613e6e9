// Where a host has no memory left, its kernel ends the process that it likes least. That is to be a worker, which then
// ends as host_oom, and not the coordinator or what else runs there.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace reprobench {

// For this process and those that it starts. Where /proc cannot be written, nothing changes.
inline void become_first_victim() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, "1000", 4);
  close(fd);
}

}  // namespace reprobench
