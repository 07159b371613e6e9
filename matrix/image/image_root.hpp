// Reads an unpacked root: the files below a folder, as if they were those of a container.
#pragma once

#include <filesystem>

#include "matrix/image/image.hpp"

namespace reprobench {

// Fills the tree. Folders that may not be read are named in `unreadable`. Other file systems that are mounted below the
// folder (proc, sys, dev) are not entered. Throws SpecError if `folder` is no root, because it has neither etc, usr,
// bin nor lib.
void read_root(Image& image, const std::filesystem::path& folder, const ImageLimits& limits);

}  // namespace reprobench
