#include "matrix/cli/kept_image.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "matrix/base/pending_file.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/exec/helper_environment.hpp"
#include "matrix/exec/subprocess.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestManifestBytes = 16 << 20;

// Where a keeper has its images, and how a registry is reached.
constexpr std::string_view kOfKeepers[] = {"CONTAINERS_*", "STORAGE_*", "DOCKER_*",    "REGISTRY_AUTH_FILE",
                                           "HTTP_PROXY",   "NO_PROXY",  "HTTPS_PROXY", "http_proxy",
                                           "https_proxy",  "no_proxy",  "SSL_CERT_*"};

struct Keeper {
  std::string_view prefix;                // of the image's name
  std::vector<std::string_view> command;  // {name}: without the prefix; {place}: what it writes
  bool is_registry = false;
};

const std::vector<Keeper>& keepers() {
  static const std::vector<Keeper> table = {
      {"podman:", {"podman", "save", "--quiet", "--format", "oci-archive", "--output", "{place}", "--", "{name}"}},
      {"docker://", {"skopeo", "copy", "--quiet", "--preserve-digests", "docker://{name}", "dir:{place}"}, true},
      {"docker:", {"docker", "save", "--output", "{place}", "--", "{name}"}},
  };
  return table;
}

const Keeper* keeper_of(const std::string& name) {
  const auto found =
      std::ranges::find_if(keepers(), [&](const Keeper& keeper) { return name.starts_with(keeper.prefix); });
  return found == keepers().end() ? nullptr : &*found;
}

void fetch(const Keeper& keeper, const std::string& name, const fs::path& place, const fs::path& shepherd) {
  const std::string program(keeper.command.front());
  SubprocessOptions options;
  options.environment = helper_environment(kOfKeepers);
  options.shepherd = shepherd.string();
  options.command = {find_in_path(program)};
  if (options.command.front().empty()) throw UsageError(fmt::format("{}: {} is not on PATH", name, program));
  for (std::size_t i = 1; i < keeper.command.size(); ++i) {
    options.command.push_back(fmt::format(fmt::runtime(keeper.command[i]),
                                          fmt::arg("name", name.substr(keeper.prefix.size())),
                                          fmt::arg("place", place.string())));
  }
  const SubprocessResult result = run_subprocess(options);
  if (result.exit_code == 0) return;
  throw UsageError(fmt::format("{}: {} cannot save it (exit code {}): {}{}", name, program, result.exit_code,
                               result.err, result.launch_error));
}

// skopeo writes each blob under the digits of its digest, beside `manifest.json`. A layout has them below blobs/sha256,
// and an index that names the manifest.
void make_layout(const fs::path& place, const std::string& tag) {
  const FileText manifest = read_regular_file(place / "manifest.json", kLargestManifestBytes, Links::refused);
  if (!manifest.problem.empty()) throw UsageError(fmt::format("{}: manifest.json {}", tag, manifest.problem));
  const std::string digest = sha256_of_text(manifest.text);
  const fs::path blobs = place / "blobs/sha256";
  std::vector<fs::path> saved;
  for (const auto& entry : fs::directory_iterator(place)) {
    if (entry.path().filename().string().size() == digest.size()) saved.push_back(entry.path());
  }
  fs::create_directories(blobs);
  for (const fs::path& blob : saved) fs::rename(blob, blobs / blob.filename());
  fs::rename(place / "manifest.json", blobs / digest);
  const nlohmann::json entry = {{"digest", "sha256:" + digest},
                                {"size", manifest.text.size()},
                                {"annotations", {{"org.opencontainers.image.ref.name", tag}}}};
  PendingFile index(place / "index.json", 0644);
  index.append(nlohmann::json{{"schemaVersion", 2}, {"manifests", {entry}}}.dump() + "\n");
  index.publish();
}

}  // namespace

bool is_kept_image(const std::string& name) { return keeper_of(name) != nullptr; }

fs::path fetch_kept_image(const std::string& name, const fs::path& folder, const fs::path& shepherd) {
  const Keeper& keeper = *keeper_of(name);
  fs::create_directories(folder);
  const fs::path place = folder / (keeper.is_registry ? "saved" : "saved.tar");
  fetch(keeper, name, place, shepherd);
  if (keeper.is_registry) make_layout(place, name.substr(keeper.prefix.size()));
  return place;
}

}  // namespace reprobench
