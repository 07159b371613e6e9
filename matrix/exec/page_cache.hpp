// Libraries of stacks that are timed against each other are dropped from the page cache and read again, side by side.
//
// Where a library's pages lie in memory is decided when they are first read, and every later process finds them there.
// One release that was installed twice differed by 4 % in 18 of 18 runs, each time in favour of the same folder. After
// both had been read anew it was within 1 to 2 %.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace reprobench {

struct ReadAnew {
  std::int64_t bytes = 0;  // that were cached, were dropped and were read again
  std::int64_t kept_bytes =
      0;  // that could not be dropped: a process maps them, or the file system has them nowhere else
};

// `sides` has the files of each stack. Only what is cached of them is read again, in turn a part of each side; the
// order of the sides is reversed on demand. Files that cannot be opened are passed over, and one of several sides
// counts once.
ReadAnew read_anew(const std::vector<std::vector<std::filesystem::path>>& sides, bool is_reversed);

}  // namespace reprobench
