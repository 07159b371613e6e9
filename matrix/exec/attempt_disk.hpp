// How much of the disk an attempt may take. Quotas are not to be had on every file system, so the folder is looked at
// while the attempt runs; what a look cannot see, such as files that have no name any longer, shows in what is left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace reprobench {

struct DiskBound {
  std::int64_t attempt_bytes = 0;  // of all files of an attempt; 0: no bound
  std::int64_t free_bytes = 0;     // what must be left on the disk meanwhile
};

// One sentence if an attempt's folder has more than it may, or too little is left on its disk; else "". Each entry
// counts with at least a page, so a million empty files are bounded too. A folder that cannot be looked into, or is
// nested too deeply, is more than an attempt may have.
std::string over_disk_bound(const std::filesystem::path& folder, const DiskBound& bound);

}  // namespace reprobench
