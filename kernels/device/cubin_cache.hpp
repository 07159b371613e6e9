// Compiled kernels kept between processes: one file for each (source and headers, NVRTC version, options), where the
// options name the architecture.
//
// A file holds a line `reprobench-cubin 1 DIGEST BYTES` and the machine code; it is written beside its place and
// renamed, so several processes may share a folder. An entry that is cut short or altered is recognized by its digest,
// compiled again and replaced. The folder may be deleted at any time.
#pragma once

#include <filesystem>
#include <string>

#include "kernels/device/nvrtc.hpp"

namespace reprobench {

enum class CacheOutcome {
  hit,
  compiled,  // there was no entry
  replaced,  // the entry was corrupt
};

struct CachedCubin {
  std::string cubin;
  CacheOutcome outcome = CacheOutcome::hit;
  // Why the new entry could not be written; empty if it was. Not an error: the next process compiles again.
  std::string not_stored;
};

class CubinCache {
 public:
  // With an empty path nothing is kept.
  explicit CubinCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Throws what Nvrtc::compile throws.
  CachedCubin get(const Nvrtc& nvrtc, const KernelSource& source, int architecture) const;

  std::filesystem::path entry_path(const Nvrtc& nvrtc, const KernelSource& source, int architecture) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace reprobench
