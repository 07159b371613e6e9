// An unpacked root: the files below a folder, as they would be those of a container.
#pragma once

#include <filesystem>

#include "matrix/image/image.hpp"

namespace reprobench {

// Fills the tree. Folders that may not be read are named in `unreadable`; other file systems that are mounted below the
// folder (proc, sys, dev) are not entered. Throws SpecError where `folder` is no root: neither etc, usr, bin nor lib.
void read_root(Image& image, const std::filesystem::path& folder, const ImageLimits& limits);

}  // namespace reprobench
