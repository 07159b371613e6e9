// An image in any form: an OCI layout or archive, an archive of `docker save`, or an unpacked root. Reading an image
// runs nothing of it and needs no engine. Of an archive only the files that are asked for are kept, under numbers as
// names.
//
//   Image image = read_image("candidate.tar", staging, is_evidence);
//   const ImageEntry* python = image.tree.find("usr/bin/python3");
//
// Input that is no image, damaged, hostile or too large is a SpecError with the code of its kind: RB073 a path that
// leads out, RB074 entries that contradict each other, RB075 damaged or cut, RB076 content with another digest than
// stated, RB077 too large.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "matrix/contract/document/words.hpp"
#include "matrix/image/image_tree.hpp"

namespace reprobench {

enum class ImageForm { oci_layout, oci_archive, docker_archive, root };
template <>
struct Words<ImageForm> {
  static constexpr std::array<std::string_view, 4> table = {"oci-layout", "oci-archive", "docker-archive", "root"};
};

struct ImageLayer {
  std::string digest;               // "sha256:..." of the blob in the image, or else of the tar in it
  std::string created_by;           // from the history; empty if it says nothing
  std::int64_t entries = 0;         // files, folders, links and whiteouts
  std::int64_t unpacked_bytes = 0;  // sum of the sizes of its files
};

// The image's configuration for containers.
struct ImageConfig {
  std::string architecture;  // "amd64"; empty for a root
  std::string os;
  std::string user;  // empty: root
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> labels;
  std::vector<std::string> command;  // entrypoint, then its arguments
  std::vector<std::string> exposed_ports;
  std::vector<std::string> history;  // every command that made it
};

// A file that a later layer removed or replaced. Everybody who has the image still has it.
struct BuriedFile {
  std::string path;
  ImageEntry entry;
};

struct Image {
  std::string name;  // the name that was given
  ImageForm form = ImageForm::root;
  std::string digest;  // "sha256:..." of the manifest; for a docker archive of the configuration; empty for a root
  std::vector<std::string> tags;
  ImageConfig config;
  std::vector<ImageLayer> layers;
  ImageTree tree;
  std::vector<BuriedFile> buried;       // those whose bytes were kept
  std::vector<std::string> unreadable;  // folders of a root that were not read, each with the reason
};

struct ImageLimits {
  std::int64_t most_entries = 3'000'000;
  std::int64_t most_unpacked_bytes = std::int64_t{256} << 30;
  std::int64_t most_kept_bytes = std::int64_t{64} << 30;
  std::int64_t free_bytes = std::int64_t{1} << 30;  // space that must stay free on the disk
  int most_layers = 512;
};

// Whether the bytes of a file are wanted.
using WantedContent = std::function<bool(std::string_view path, std::int64_t size_bytes)>;

// `staging` is an empty folder for the bytes that are kept; the caller removes it. `tag` chooses among the images of an
// archive that holds several. Throws SpecError.
Image read_image(const std::filesystem::path& path, const std::filesystem::path& staging, const WantedContent& wanted,
                 const std::string& tag = "", const ImageLimits& limits = {});

// The text of a file of the image. Links are followed inside the image.
struct ImageText {
  std::string text;
  std::string problem;  // "missing", "is not a regular file", "is larger than N bytes", "was not kept"; then no text
};
ImageText text_in(const ImageTree& tree, std::string_view path, std::int64_t limit_bytes);

}  // namespace reprobench
