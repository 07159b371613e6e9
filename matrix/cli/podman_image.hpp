// Images that podman keeps, by the name `podman:NAME`. They are saved as an archive, which is then read like any other.
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

bool is_podman_image(const std::string& name);

// Writes the image as an OCI archive. podman runs under `shepherd`, so that it ends with this process. Throws
// UsageError if it is not on PATH or cannot save the image.
void save_podman_image(const std::string& name, const std::filesystem::path& archive,
                       const std::filesystem::path& shepherd);

}  // namespace reprobench
