// Images made entry by entry: archives and layouts as `docker save` and OCI tools write them, whole, damaged or
// hostile.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "matrix/base/sha256.hpp"
#include "matrix/image/inspection.hpp"
#include "matrix/provision/provision_fixture.hpp"
#include "matrix/spec/spec_error.hpp"

namespace reprobench::test {

enum class TarKind { file, folder, link, hard_link, device };

struct TarEntry {
  std::string name;
  std::string content{};  // of links: the target
  TarKind kind = TarKind::file;
  unsigned mode = 0644;
};

inline std::string tar_of(const std::vector<TarEntry>& entries, bool is_compressed = false) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "layer.tar";
  archive* writer = archive_write_new();
  archive_write_set_format_pax_restricted(writer);
  if (is_compressed) archive_write_add_filter_gzip(writer);
  REQUIRE(archive_write_open_filename(writer, path.c_str()) == ARCHIVE_OK);
  for (const TarEntry& entry : entries) {
    archive_entry* header = archive_entry_new();
    archive_entry_set_pathname(header, entry.name.c_str());
    archive_entry_set_perm(header, static_cast<mode_t>(entry.mode));
    archive_entry_set_filetype(header, entry.kind == TarKind::folder   ? AE_IFDIR
                                       : entry.kind == TarKind::link   ? AE_IFLNK
                                       : entry.kind == TarKind::device ? AE_IFCHR
                                                                       : AE_IFREG);
    if (entry.kind == TarKind::link) archive_entry_set_symlink(header, entry.content.c_str());
    if (entry.kind == TarKind::hard_link) archive_entry_set_hardlink(header, entry.content.c_str());
    const bool has_bytes = entry.kind == TarKind::file;
    archive_entry_set_size(header, has_bytes ? static_cast<la_int64_t>(entry.content.size()) : 0);
    REQUIRE(archive_write_header(writer, header) == ARCHIVE_OK);
    if (has_bytes) archive_write_data(writer, entry.content.data(), entry.content.size());
    archive_entry_free(header);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  return read_file(path);
}

inline std::string digest_of(const std::string& bytes) { return "sha256:" + sha256_of_text(bytes); }

// The properties of an image that a test may change before it is written.
struct ImagePlan {
  std::vector<std::vector<TarEntry>> layers;
  nlohmann::json container = {{"Env", {"PATH=/opt/venv/bin:/usr/bin"}}, {"User", "1000"}};
  nlohmann::json history = nlohmann::json::array();
  std::string architecture = "amd64";
  std::string tag = "example.org/pytorch:2.9.0-cuda12.8-cudnn9-runtime";
  bool is_compressed = false;
};

inline nlohmann::json configuration(const ImagePlan& plan, const std::vector<std::string>& tars) {
  nlohmann::json ids = nlohmann::json::array();
  for (const std::string& tar : tars) ids.push_back(digest_of(tar));
  return {{"architecture", plan.architecture},
          {"os", "linux"},
          {"config", plan.container},
          {"history", plan.history},
          {"rootfs", {{"type", "layers"}, {"diff_ids", ids}}}};
}

// An OCI layout with its blobs in `blobs/sha256`. `change` may spoil the entries of the archive before they are
// written.
struct OciImage {
  std::vector<TarEntry> entries;  // index.json first
};

inline OciImage oci_image(const ImagePlan& plan) {
  std::vector<std::string> tars;
  nlohmann::json layers = nlohmann::json::array();
  OciImage image;
  const auto blob = [&](const std::string& bytes) {
    const std::string digest = digest_of(bytes);
    image.entries.push_back({"blobs/sha256/" + digest.substr(7), bytes});
    return digest;
  };
  for (const auto& entries : plan.layers) {
    tars.push_back(tar_of(entries));
    const std::string packed = plan.is_compressed ? tar_of(entries, true) : tars.back();
    layers.push_back({{"mediaType", plan.is_compressed ? "application/vnd.oci.image.layer.v1.tar+gzip"
                                                       : "application/vnd.oci.image.layer.v1.tar"},
                      {"digest", blob(packed)},
                      {"size", packed.size()}});
  }
  const std::string config = configuration(plan, tars).dump();
  const std::string manifest = nlohmann::json{
      {"schemaVersion", 2},
      {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
      {"config", {{"mediaType", "application/vnd.oci.image.config.v1+json"}, {"digest", blob(config)}}},
      {"layers", layers}}.dump();
  const nlohmann::json index = {{"schemaVersion", 2},
                                {"manifests",
                                 {{{"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                                   {"digest", blob(manifest)},
                                   {"annotations", {{"io.containerd.image.name", plan.tag}}}}}}};
  image.entries.insert(image.entries.begin(),
                       {{"oci-layout", R"({"imageLayoutVersion": "1.0.0"})"}, {"index.json", index.dump()}});
  return image;
}

inline std::vector<TarEntry> docker_archive(const ImagePlan& plan) {
  std::vector<std::string> tars;
  std::vector<TarEntry> entries;
  nlohmann::json names = nlohmann::json::array();
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    tars.push_back(tar_of(plan.layers[i]));
    names.push_back("layer" + std::to_string(i) + "/layer.tar");
    entries.push_back({names.back(), tars.back()});
  }
  entries.push_back({"config.json", configuration(plan, tars).dump()});
  entries.push_back(
      {"manifest.json",
       nlohmann::json::array({{{"Config", "config.json"}, {"RepoTags", {plan.tag}}, {"Layers", names}}}).dump()});
  return entries;
}

// A folder for an image, a folder for the bytes that are kept, and the outcome of reading it.
class ImageFolder {
 public:
  std::filesystem::path path() const { return folder_.path / "image"; }

  Image read_archive(const std::vector<TarEntry>& entries, const ImageLimits& limits = {}, bool is_compressed = false) {
    write_file(path(), tar_of(entries, is_compressed));
    return read(limits);
  }
  Image read(const ImageLimits& limits = {}, const std::string& tag = "") {
    const std::filesystem::path staging = folder_.path / "staging";
    std::filesystem::remove_all(staging);
    std::filesystem::create_directories(staging);
    return read_image(
        path(), staging, [](std::string_view, std::int64_t) { return true; }, tag, limits);
  }
  // The message about an archive that cannot be read, without its name.
  std::string refusal(const std::vector<TarEntry>& entries, const ImageLimits& limits = {}) {
    std::string said = message_of<SpecError>([&] { read_archive(entries, limits); });
    const std::string name = path().string() + ": ";
    return said.starts_with(name) ? said.substr(name.size()) : said;
  }
  std::vector<std::string> kept() const { return names_below(folder_.path); }

 private:
  TemporaryFolder folder_;
};

}  // namespace reprobench::test
