// Are an installed stack's libraries still those that were installed? Asked at the beginning of every run, so a file is
// hashed only where its size, its times or its place on the disk are not those under which it was hashed before.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/contract/installed_libraries.hpp"
#include "matrix/provision/stack_manifest.hpp"

namespace reprobench {

struct LibraryCheck {
  InstalledLibraries installed;
  std::vector<std::string> changed;  // one sentence a library that is missing or another one now
};

// `folder` is the stack's, with its stack.json. What was hashed is kept beside that in libraries.json, where the folder
// can be written.
LibraryCheck check_libraries(const std::filesystem::path& folder, const StackManifest& manifest);

// The folder that the worker was linked to find its torch in; empty: it finds it otherwise. A store that was moved or
// copied has workers of the place it was made in.
std::filesystem::path linked_site(const std::filesystem::path& worker);

}  // namespace reprobench
