// Hybrids of this store's stacks: their files lie in STACKS/hybrids/, beside the folders that hold their links.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "matrix/cli/project.hpp"

namespace reprobench {

std::filesystem::path hybrids_folder(const std::filesystem::path& stacks_home);

// Component to the name of the stack that it is taken from.
using PartsByStack = std::map<std::string, std::string>;

// The stack `base` with components of others; `name` empty: one that says so. Its file is written once its libraries
// may meet (provision/hybrid_rules.hpp); nothing is linked yet. Throws UsageError for a stack that is not of wheels or
// is not installed, or a name that is taken, and ProvisionError with every rule that is broken.
StackSpec declare_hybrid(const Project& project, const std::string& base, const PartsByStack& from,
                         const std::string& name = "");

// Its folder and its file.
void remove_hybrid(const Project& project, const StackSpec& hybrid);

}  // namespace reprobench
