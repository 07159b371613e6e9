// Writes the files of an image to this host's disk, as a folder in which programs can run.
#pragma once

#include <filesystem>
#include <string>

#include "matrix/image/image.hpp"

namespace reprobench {

// Writes the image's tree into `folder`, which is new and empty. Every path stays below it, because the tree's paths go
// through no link. Devices, sockets, owners, setuid and setgid are left out. The bytes are those of the files that
// read_image() kept, and the new files are hard links to them, so `folder` must be on the disk of its staging. Throws
// SpecError (RB075) if the bytes of a file were not kept, and std::filesystem::filesystem_error.
void write_root(const Image& image, const std::filesystem::path& folder);

// "root-sha256:...": the digest of an unpacked root's content, since a root has no digest of its own. It covers the
// path, kind, permission and content of every entry. Throws ProvisionError if one cannot be read, because it may be
// anything.
std::string digest_of_root(const Image& image);

}  // namespace reprobench
