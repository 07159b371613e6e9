// Images that an engine or a registry keeps: podman:NAME, docker:NAME, docker://REGISTRY/NAME. They are brought into a
// folder, and are then read like any other.
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

// What a help text calls them.
inline constexpr const char* kKeptImageForms = "podman:NAME, docker:NAME or docker://REGISTRY/NAME";

bool is_kept_image(const std::string& name);

// The image in `folder`, which is made: an archive, or of a registry an OCI layout with the registry's own manifest, so
// that the digest is the one it was pulled by. The program that fetches it runs under `shepherd` and so ends with this
// process. Throws UsageError if it is not on PATH or fails.
std::filesystem::path fetch_kept_image(const std::string& name, const std::filesystem::path& folder,
                                       const std::filesystem::path& shepherd);

}  // namespace reprobench
