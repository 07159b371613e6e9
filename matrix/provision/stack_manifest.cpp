#include "matrix/provision/stack_manifest.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/pending_file.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/contract/json_field.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

constexpr const char* kDocument = "installed_stack";
constexpr const char* kManifestName = "stack.json";
constexpr std::int64_t kLargestManifestBytes = 256 << 20;  // a line for each of the thousands of files of a wheel

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw ProvisionError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error)));
}

}  // namespace

void write_manifest(const std::filesystem::path& folder, const StackManifest& manifest) {
  nlohmann::json json = document(kDocument);
  json["name"] = manifest.name;
  json["digest"] = manifest.digest;
  json["with_gpu"] = manifest.with_gpu;
  json["wheels"] = manifest.wheels;
  json["size_bytes"] = manifest.size_bytes;
  json["files"] = nlohmann::json::array();
  for (const UnpackedFile& file : manifest.files) {
    json["files"].push_back({{"path", file.path}, {"size_bytes", file.size_bytes}, {"sha256", file.sha256}});
  }
  // First the thousands of unpacked files, in one call.
  const FileDescriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || syncfs(directory.get()) != 0) fail(folder, errno);
  try {
    PendingFile file(folder / kManifestName, 0644);
    file.append(json.dump(2) + "\n");
    file.publish();
  } catch (const std::system_error& error) {
    fail(folder / kManifestName, error.code().value());
  }
}

StackManifest read_manifest(const std::filesystem::path& folder) {
  const FileText read = read_regular_file(folder / kManifestName, kLargestManifestBytes);
  if (!read.problem.empty()) throw ContractError((folder / kManifestName).string() + ": " + read.problem);
  const nlohmann::json json = json_or_discarded(read.text);
  if (json.is_discarded()) throw ContractError((folder / kManifestName).string() + ": is no JSON");
  require_document(json, kDocument);
  StackManifest manifest;
  manifest.name = required<std::string>(kDocument, json, "name");
  manifest.digest = required<std::string>(kDocument, json, "digest");
  manifest.with_gpu = required<bool>(kDocument, json, "with_gpu");
  manifest.wheels = required<std::vector<std::string>>(kDocument, json, "wheels");
  manifest.size_bytes = required<std::int64_t>(kDocument, json, "size_bytes");
  for (const nlohmann::json& file : required<std::vector<nlohmann::json>>(kDocument, json, "files")) {
    manifest.files.push_back({.path = required<std::string>(kDocument, file, "path"),
                              .size_bytes = required<std::int64_t>(kDocument, file, "size_bytes"),
                              .sha256 = required<std::string>(kDocument, file, "sha256")});
  }
  return manifest;
}

bool has_manifest(const std::filesystem::path& folder) { return std::filesystem::exists(folder / kManifestName); }

}  // namespace reprobench
