// Compares the declared, compiled and loaded versions of a stack.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/contract/capability.hpp"
#include "matrix/provision/lock_file.hpp"
#include "matrix/provision/stack_manifest.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

struct StackFinding {
  std::string text;
  bool is_settled = false;  // it disagrees, and the stack is the declared one all the same
};

// Disagreements between the versions that the stack file declares, those that the worker or torch was built against,
// and those that the worker loaded (spec/version_agreement.hpp, as in the verdict of a run). Also every mapped library
// of torch or NVIDIA outside the stack's own folders. Two kinds are settled. One is the patch number of a system
// stack's torch, for which its package vouches (find_system_problem). The other is the version that a hybrid's torch
// was compiled against, if it loads the one that the hybrid declares.
std::vector<StackFinding> find_disagreements(const StackSpec& spec, const Capability& capability,
                                             const std::filesystem::path& folder);

// One sentence for each unpacked library that is missing or has changed.
std::vector<std::string> find_changed_files(const std::filesystem::path& site, const StackManifest& manifest);

// One sentence for each wheel of the lock in `downloads` that has other content. A wheel that is not there is no
// finding.
std::vector<std::string> find_changed_wheels(const std::filesystem::path& downloads,
                                             const std::vector<LockedWheel>& lock);

}  // namespace reprobench
