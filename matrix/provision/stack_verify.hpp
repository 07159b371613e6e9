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

// True if `actual` is `declared` or a more exact form of it: "12.8.90" and "12.8", "2.9.0+cu128" and "2.9.0". A local
// part ("+cu128") counts only where both have one.
bool agrees_with(const std::string& declared, const std::string& actual);

// One sentence a disagreement between what the stack file declares, what the worker or torch was built against and what
// the worker loaded (for CUDA, cuDNN and NCCL an older release of the same major may have been built against), and for
// a mapped library of torch or NVIDIA that lies outside the stack's own folders.
std::vector<std::string> find_version_disagreements(const StackSpec& spec, const Capability& capability,
                                                    const std::filesystem::path& folder);

// One sentence an unpacked library that is missing or has changed.
std::vector<std::string> find_changed_files(const std::filesystem::path& site, const StackManifest& manifest);

// One sentence a wheel of the lock in `downloads` that has another content. Wheels that are not there are no finding.
std::vector<std::string> find_changed_wheels(const std::filesystem::path& downloads,
                                             const std::vector<LockedWheel>& lock);

}  // namespace reprobench
