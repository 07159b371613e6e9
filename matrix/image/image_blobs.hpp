// The named blobs of an image that is a folder (OCI layout) or one tar file (OCI archive, `docker save`).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "matrix/image/image_layers.hpp"

namespace reprobench {

class ImageBlobs {
 public:
  virtual ~ImageBlobs() = default;
  virtual bool has(const std::string& name) const = 0;
  // Reads from the beginning of the blob; null if there is none. One reader at a time.
  virtual std::unique_ptr<BlobReader> open(const std::string& name) = 0;
};

// Throws SpecError if `path` is neither a folder nor a tar. A compressed tar is unpacked into `staging` first, because
// its blobs are read in another order than that of the file.
std::unique_ptr<ImageBlobs> open_image_blobs(const Image& image, const std::filesystem::path& path,
                                             const std::filesystem::path& staging, const ImageLimits& limits);

}  // namespace reprobench
