// Whether an installed stack's libraries are still those that were installed. It is checked at the beginning of every
// run. So a file is hashed only if its size, its times or its place on the disk differ from those under which it was
// hashed before.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/contract/installed_libraries.hpp"
#include "matrix/provision/stack_manifest.hpp"

namespace reprobench {

struct LibraryCheck {
  InstalledLibraries installed;
  std::vector<std::string> changed;  // one sentence for each library that is missing or has changed
};

// `folder` is the stack's, with its stack.json. The hashes are kept beside it in libraries.json, if the folder can be
// written.
LibraryCheck check_libraries(const std::filesystem::path& folder, const StackManifest& manifest);

// The folder in which the worker was linked to find its torch; empty if it finds it in another way. A store that was
// moved or copied has workers that look in the place where it was made.
std::filesystem::path linked_site(const std::filesystem::path& worker);

}  // namespace reprobench
