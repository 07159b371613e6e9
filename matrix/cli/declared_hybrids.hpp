// Hybrids of this store's stacks. Their files are in STACKS/hybrids/, beside the folders that hold their links.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "matrix/cli/project.hpp"

namespace reprobench {

std::filesystem::path hybrids_folder(const std::filesystem::path& stacks_home);

// Maps a component to the name of the stack that it is taken from.
using PartsByStack = std::map<std::string, std::string>;

// Declares the stack `base` with components of others. If `name` is empty, it gets a name that says so. Its file is
// written once it is known that its libraries may meet (provision/hybrid/hybrid_rules.hpp); nothing is linked yet.
// Throws UsageError for a stack that is not of wheels or is not installed, or a name that is taken. Throws
// ProvisionError with every rule that is broken.
StackSpec declare_hybrid(const Project& project, const std::string& base, const PartsByStack& from,
                         const std::string& name = "");

// Removes its folder and its file.
void remove_hybrid(const Project& project, const StackSpec& hybrid);

}  // namespace reprobench
