// Declared, compiled and loaded versions of a stack, held against each other.
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
  bool is_settled = false;  // it is so, and the stack is the declared one all the same
};

// What disagrees between what the stack file declares, what the worker or torch was built against and what the worker
// loaded (spec/version_agreement.hpp, as in the verdict of a run), and every mapped library of torch or NVIDIA that
// lies outside the stack's own folders. Settled: the patch number of a system stack's torch, which its package vouches
// for (find_system_problem), and what a hybrid's torch was compiled against where it loads what the hybrid declares.
std::vector<StackFinding> find_disagreements(const StackSpec& spec, const Capability& capability,
                                             const std::filesystem::path& folder);

// One sentence an unpacked library that is missing or has changed.
std::vector<std::string> find_changed_files(const std::filesystem::path& site, const StackManifest& manifest);

// One sentence a wheel of the lock in `downloads` that has another content. Wheels that are not there are no finding.
std::vector<std::string> find_changed_wheels(const std::filesystem::path& downloads,
                                             const std::vector<LockedWheel>& lock);

}  // namespace reprobench
