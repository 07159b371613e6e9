// Whether an installed stack's libraries and worker are still those that were installed and built. It is checked at the
// beginning of every run. So a file is hashed only if its size, its times or its place on the disk differ from those
// under which it was hashed before.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/contract/installed_libraries.hpp"
#include "matrix/provision/stack_manifest.hpp"

namespace reprobench {

struct LibraryCheck {
  InstalledLibraries installed;
  std::vector<std::string> changed;  // one sentence for each file that is missing or has changed
};

// `folder` is the stack's, with its stack.json. The hashes are kept beside it in libraries.json, if the folder can be
// written. `worker` lies below it, with its digest beside it; empty: the libraries alone.
LibraryCheck check_libraries(const std::filesystem::path& folder, const StackManifest& manifest,
                             const std::filesystem::path& worker = {});

// Hashes the libraries of an adopted environment, which lie outside `folder`, in place of those that were hashed
// before. check_libraries() holds them against that: a library that is patched in place keeps its build id. Throws
// ProvisionError.
void hash_adopted_libraries(const std::filesystem::path& folder, const std::vector<std::string>& paths);

// The folder in which the worker was linked to find its torch; empty if it finds it in another way. A store that was
// moved or copied has workers that look in the place where it was made.
std::filesystem::path linked_site(const std::filesystem::path& worker);

}  // namespace reprobench
