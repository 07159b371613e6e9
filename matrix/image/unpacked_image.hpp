// The files of an image on this host's disk, as a folder that programs can be run in.
#pragma once

#include <filesystem>
#include <string>

#include "matrix/image/image.hpp"

namespace reprobench {

// Writes the image's tree into `folder`, which is new and empty. Every path lies below it, since the tree's paths go
// through no link; devices, sockets, owners, setuid and setgid are left out. The bytes are those of the files that
// read_image() kept, which become names of the same files: `folder` is on the disk of its staging. Throws SpecError
// (RB075) where the bytes of a file were not kept, and std::filesystem::filesystem_error.
void write_root(const Image& image, const std::filesystem::path& folder);

// "root-sha256:...": what lies in an unpacked root, which has no digest of its own. Over the path, kind, permission and
// content of every entry. Throws ProvisionError where one cannot be read: what was not read may be anything.
std::string digest_of_root(const Image& image);

}  // namespace reprobench
