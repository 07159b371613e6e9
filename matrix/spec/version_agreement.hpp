// Compares the versions that a stack file declares with those that a worker was compiled with and really loaded. `stack
// verify`, `doctor` and the verdict of a run all use this one account.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/contract/result.hpp"

namespace reprobench {

// True if `actual` is `declared` or a more exact form of it: "12.8.90" and "12.8", "2.9.0+cu128" and "2.9.0". A local
// part ("+cu128") counts only if both have one.
bool agrees_with(const std::string& declared, const std::string& actual);

struct VersionDisagreement {
  std::string component;
  std::string text;            // "torch: declared 1.13.1, compiled against and loaded 1.13.0 from /usr/lib/..."
  bool is_patch_only = false;  // all numbers but the last agree
};

// At most one for each component. CUDA, cuDNN and NCCL may have been compiled against an older release of the declared
// major. Components that nobody declares must have been compiled against the version that was loaded.
std::vector<VersionDisagreement> find_version_disagreements(const std::map<std::string, std::string>& declared,
                                                            const Fingerprint& fingerprint);

}  // namespace reprobench
