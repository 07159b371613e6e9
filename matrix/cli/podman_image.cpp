#include "matrix/cli/podman_image.hpp"

#include <string_view>

#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/exec/helper_environment.hpp"
#include "matrix/exec/subprocess.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kPodman = "podman:";

// Where podman keeps its images, where that is not the usual place.
constexpr std::string_view kOfPodman[] = {"CONTAINERS_*", "STORAGE_*"};

}  // namespace

bool is_podman_image(const std::string& name) { return name.starts_with(kPodman); }

void save_podman_image(const std::string& name, const std::filesystem::path& archive,
                       const std::filesystem::path& shepherd) {
  const std::string podman = find_in_path("podman");
  if (podman.empty()) throw UsageError(fmt::format("{}: podman is not on PATH", name));
  SubprocessOptions options;
  options.command = {podman,        "save",     "--quiet",        "--format",
                     "oci-archive", "--output", archive.string(), name.substr(kPodman.size())};
  options.environment = helper_environment(kOfPodman);
  options.shepherd = shepherd.string();
  const SubprocessResult result = run_subprocess(options);
  if (result.exit_code == 0) return;
  throw UsageError(fmt::format("{}: podman cannot save it (exit code {}): {}{}", name, result.exit_code, result.err,
                               result.launch_error));
}

}  // namespace reprobench
