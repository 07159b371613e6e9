#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/image/image.hpp"
#include "matrix/image/image_blobs.hpp"
#include "matrix/image/image_root.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLargestDocumentBytes = 16 << 20;
constexpr int kDeepestIndex = 3;

constexpr const char* kIndex = "application/vnd.oci.image.index.v1+json";
constexpr const char* kDockerList = "application/vnd.docker.distribution.manifest.list.v2+json";

// An archive or layout, from its first document to its layers.
class PackedImage {
 public:
  PackedImage(Image& image, const fs::path& path, const fs::path& staging, const ImageLimits& limits)
      : image_(image), blobs_(open_image_blobs(image, path, staging, limits)), is_folder_(fs::is_directory(path)) {}

  void read(const std::string& tag, LayerApplier& layers) {
    if (blobs_->has("index.json")) {
      image_.form = is_folder_ ? ImageForm::oci_layout : ImageForm::oci_archive;
      read_oci(tag);
    } else if (blobs_->has("manifest.json")) {
      image_.form = ImageForm::docker_archive;
      read_docker(tag);
    } else {
      fail("RB075", "it has neither index.json (OCI) nor manifest.json (docker save)");
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto blob = blobs_->open(layers_[i].name);
      if (!blob) fail("RB075", fmt::format("layer {} of {} is missing: {}", i + 1, layers_.size(), layers_[i].name));
      layers.apply(*blob, layers_[i].digest, diff_ids_[i]);
      if (i < created_by_.size()) image_.layers.back().created_by = created_by_[i];
    }
  }

 private:
  struct LayerBlob {
    std::string name;
    std::string digest;  // empty where the archive says none
  };

  [[noreturn]] void fail(const char* code, const std::string& what) const { throw_image_error(image_, code, what); }

  std::string text(const std::string& name) {
    const auto blob = blobs_->open(name);
    if (!blob) fail("RB075", name + " is missing");
    std::string text;
    for (std::string_view piece = blob->read(); !piece.empty(); piece = blob->read()) {
      text += piece;
      if (text.size() > kLargestDocumentBytes) fail("RB077", name + " is too large for a document");
    }
    return text;
  }

  json document(const std::string& name, const std::string& digest = "") {
    const std::string content = text(name);
    if (const std::string is = "sha256:" + sha256_of_text(content); !digest.empty() && is != digest) {
      fail("RB076", fmt::format("{} is named {}, its content is {}", name, digest, is));
    }
    ParsedJson parsed = parse_json(content);
    if (!parsed.problem.empty() || !parsed.value.is_object()) {
      if (name != "manifest.json" || !parsed.problem.empty() || !parsed.value.is_array()) {
        fail("RB075", fmt::format("{} is no document of an image: {}", name,
                                  parsed.problem.empty() ? "no object" : parsed.problem));
      }
    }
    return std::move(parsed.value);
  }

  void require_digest(const std::string& text) const {
    const bool is_hex = text.size() == 71 && text.find_first_not_of("0123456789abcdef", 7) == std::string::npos;
    if (!text.starts_with("sha256:") || !is_hex) fail("RB075", fmt::format("`{}` is no SHA-256 digest", text));
  }

  // "blobs/sha256/..." of a digest, which is part of a path.
  std::string blob_of(const std::string& digest) const {
    require_digest(digest);
    return "blobs/sha256/" + digest.substr(7);
  }

  // Text of a field that must be there.
  std::string field(const json& object, const char* key, const char* of) const {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (found == object.end() || !found->is_string()) fail("RB075", fmt::format("{} has no `{}`", of, key));
    return found->get<std::string>();
  }

  json list(const json& object, const char* key, const char* of) const {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (found == object.end() || !found->is_array()) fail("RB075", fmt::format("{} has no list `{}`", of, key));
    return *found;
  }

  static std::string tag_of(const json& manifest) {
    const auto notes = manifest.find("annotations");
    if (notes == manifest.end() || !notes->is_object()) return "";
    // containerd's full name comes first, the specification's own may be the bare tag.
    for (const char* key : {"io.containerd.image.name", "org.opencontainers.image.ref.name"}) {
      const auto name = notes->find(key);
      if (name != notes->end() && name->is_string()) return name->get<std::string>();
    }
    return "";
  }

  void read_oci(const std::string& tag) {
    const json index = document("index.json");
    std::vector<json> named;
    std::vector<std::string> tags;
    for (const json& manifest : list(index, "manifests", "index.json")) {
      tags.push_back(manifest.is_object() ? tag_of(manifest) : "");
      if (tag.empty() || tags.back() == tag) named.push_back(manifest);
    }
    choose_one(named.size(), tag, tags);
    if (const std::string name = tag_of(named.front()); !name.empty()) image_.tags = {name};
    read_manifest(manifest_for_this_host(named.front(), 0));
  }

  void choose_one(std::size_t count, const std::string& tag, const std::vector<std::string>& tags) const {
    if (count == 1) return;
    fail("RB018", fmt::format("it holds {} images{}: {}; choose one with --tag", tags.size(),
                              tag.empty() ? "" : fmt::format(", {} of the tag {}", count, tag), fmt::join(tags, ", ")));
  }

  // The manifest for x86-64 in an index over architectures.
  json manifest_for_this_host(json entry, int depth) {
    for (;; ++depth) {
      const std::string digest = field(entry, "digest", "a manifest's entry");
      const json content = document(blob_of(digest), digest);
      const std::string type = entry.value("mediaType", content.value("mediaType", ""));
      if (type != kIndex && type != kDockerList && !content.contains("manifests")) {
        image_.digest = digest;
        return content;
      }
      if (depth >= kDeepestIndex) fail("RB077", "its indexes are nested too deep");
      entry = choose_platform(list(content, "manifests", "an index"));
    }
  }

  json choose_platform(const json& manifests) const {
    std::vector<std::string> others;
    for (const json& manifest : manifests) {
      const json platform = manifest.is_object() ? manifest.value("platform", json::object()) : json::object();
      if (!platform.is_object()) fail("RB075", "a platform of an index is no object");
      const std::string name = platform.value("os", "linux") + "/" + platform.value("architecture", "amd64");
      if (name == "linux/amd64") return manifest;
      if (name != "unknown/unknown") others.push_back(name);  // that is an attestation's
    }
    fail("RB075", fmt::format("it is not for linux/amd64; it is for {}", fmt::join(others, ", ")));
  }

  void read_manifest(const json& manifest) {
    const std::string config = field(manifest.value("config", json::object()), "digest", "the manifest's config");
    for (const json& layer : list(manifest, "layers", "the manifest")) {
      const std::string digest = field(layer, "digest", "a layer");
      const std::string type = layer.value("mediaType", "");
      if (type.find("tar") == std::string::npos) fail("RB075", fmt::format("a layer is no tar but `{}`", type));
      layers_.push_back({blob_of(digest), digest});
    }
    read_config(document(blob_of(config), config));
  }

  void read_docker(const std::string& tag) {
    const json manifest = document("manifest.json");
    if (!manifest.is_array()) fail("RB075", "manifest.json is no list");
    std::vector<json> named;
    std::vector<std::string> tags;
    for (const json& entry : manifest) {
      std::vector<std::string> own;
      if (entry.is_object() && entry.contains("RepoTags") && entry["RepoTags"].is_array()) {
        for (const json& name : entry["RepoTags"]) {
          if (name.is_string()) own.push_back(name.get<std::string>());
        }
      }
      tags.push_back(own.empty() ? "(no tag)" : fmt::format("{}", fmt::join(own, ", ")));
      if (!tag.empty() && std::find(own.begin(), own.end(), tag) == own.end()) continue;
      named.push_back(entry);
      image_.tags = own;
    }
    choose_one(named.size(), tag, tags);
    for (const json& layer : list(named.front(), "Layers", "manifest.json")) {
      if (!layer.is_string()) fail("RB075", "manifest.json: a layer has no name");
      layers_.push_back({layer.get<std::string>(), ""});
    }
    const std::string name = field(named.front(), "Config", "manifest.json");
    const std::string content = text(name);
    image_.digest = "sha256:" + sha256_of_text(content);
    read_config(document(name));
  }

  void read_config(const json& config) {
    image_.config.architecture = config.value("architecture", "");
    image_.config.os = config.value("os", "");
    if (image_.config.architecture != "amd64") {
      fail("RB075", fmt::format("it is for `{}`, this host runs amd64", image_.config.architecture));
    }
    // The digest of a docker archive is that of its configuration, so only these digests bind it to its layers.
    for (const json& id : list(config.value("rootfs", json::object()), "diff_ids", "its configuration")) {
      require_digest(id.is_string() ? id.get<std::string>() : id.dump());
      diff_ids_.push_back(id.get<std::string>());
    }
    if (diff_ids_.size() != layers_.size()) {
      fail("RB076", fmt::format("it has {} layers, its configuration names {}", layers_.size(), diff_ids_.size()));
    }
    for (const json& step : config.value("history", json::array())) {
      if (!step.is_object()) continue;
      const std::string command = step.value("created_by", "");
      if (!command.empty()) image_.config.history.push_back(command);
      if (!step.value("empty_layer", false)) created_by_.push_back(command);
    }
    read_container(config.value("config", json::object()));
  }

  void read_container(const json& container) {
    if (!container.is_object()) return;
    const auto texts = [&](const char* key) {
      std::vector<std::string> values;
      const auto found = container.find(key);
      if (found == container.end() || !found->is_array()) return values;
      for (const json& value : *found) {
        if (value.is_string()) values.push_back(value.get<std::string>());
      }
      return values;
    };
    image_.config.user = container.value("User", "");
    for (const std::string& variable : texts("Env")) {
      const std::size_t equals = variable.find('=');
      if (equals != std::string::npos) {
        image_.config.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
      }
    }
    image_.config.command = texts("Entrypoint");
    for (std::string& word : texts("Cmd")) image_.config.command.push_back(std::move(word));
    const auto labels = container.find("Labels");
    if (labels != container.end() && labels->is_object()) {
      for (const auto& [key, value] : labels->items()) {
        if (value.is_string()) image_.config.labels[key] = value.get<std::string>();
      }
    }
    const auto ports = container.find("ExposedPorts");
    if (ports != container.end() && ports->is_object()) {
      for (const auto& [port, nothing] : ports->items()) image_.config.exposed_ports.push_back(port);
    }
  }

  Image& image_;
  std::unique_ptr<ImageBlobs> blobs_;
  bool is_folder_;
  std::vector<LayerBlob> layers_;
  std::vector<std::string> diff_ids_;
  std::vector<std::string> created_by_;  // one a layer
};

}  // namespace

Image read_image(const fs::path& path, const fs::path& staging, const WantedContent& wanted, const std::string& tag,
                 const ImageLimits& limits) {
  Image image;
  image.name = path.string();
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) throw_image_error(image, "RB027", "there is no such file or folder");
  const bool is_layout = fs::exists(path / "index.json") || fs::exists(path / "manifest.json");
  if (fs::is_directory(status) && (!is_layout || looks_like_root(path))) {
    read_root(image, path, limits);
    return image;
  }
  LayerApplier layers(image, staging, wanted, limits);
  try {
    PackedImage(image, path, staging, limits).read(tag, layers);
  } catch (const json::exception& problem) {  // a field of another type than the specification has
    throw_image_error(image, "RB075", fmt::format("a document of it is malformed: {}", problem.what()));
  }
  return image;
}

ImageText text_in(const ImageTree& tree, std::string_view path, std::int64_t limit_bytes) {
  const ImageEntry* entry = tree.find(path);
  if (entry == nullptr) return {"", "missing"};
  if (entry->kind != EntryKind::file) return {"", "is not a regular file"};
  if (entry->size_bytes > limit_bytes) return {"", fmt::format("is larger than {} bytes", limit_bytes)};
  if (entry->content.empty()) return {"", "was not kept"};
  FileText text = read_regular_file(entry->content, limit_bytes, Links::refused);
  return {std::move(text.text), std::move(text.problem)};
}

}  // namespace reprobench
