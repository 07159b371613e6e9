#include "matrix/provision/stack_manifest.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "matrix/contract/json_field.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

constexpr const char* kDocument = "installed_stack";
constexpr const char* kManifestName = "stack.json";

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw ProvisionError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
}

// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags) : value_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (value_ < 0) fail(path);
  }
  ~Descriptor() { close(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

void write_all(const Descriptor& file, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t count = write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
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
  const std::filesystem::path temporary = folder / "stack.json.tmp";
  {
    const Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(file, json.dump(2) + "\n", temporary);
    // One call for the thousands of unpacked files as well.
    if (syncfs(file.get()) != 0) fail(temporary);
  }
  std::filesystem::rename(temporary, folder / kManifestName);
  const Descriptor directory(folder, O_RDONLY | O_DIRECTORY);
  if (fsync(directory.get()) != 0) fail(folder);
}

StackManifest read_manifest(const std::filesystem::path& folder) {
  std::ifstream stream(folder / kManifestName);
  std::ostringstream text;
  text << stream.rdbuf();
  const nlohmann::json json = nlohmann::json::parse(text.str(), nullptr, false);
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
