// Reads an unpacked root: the files below a folder, as if they were those of a container.
#pragma once

#include <filesystem>

#include "matrix/image/image.hpp"

namespace reprobench {

// Whether `folder` has any of etc, usr, bin, lib and opt, which no layout of an image has.
bool looks_like_root(const std::filesystem::path& folder);

// Fills the tree. Folders that may not be read are named in `unreadable`, and so are other file systems that are
// mounted below the folder, which are not entered. Throws SpecError if `folder` does not look like a root.
void read_root(Image& image, const std::filesystem::path& folder, const ImageLimits& limits);

}  // namespace reprobench
