// Layers of an image, applied in order to one tree.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "matrix/image/image.hpp"

namespace reprobench {

// The bytes of a blob, piece by piece.
class BlobReader {
 public:
  virtual ~BlobReader() = default;
  // The next bytes, valid until the next call; empty at the end. Throws SpecError if they cannot be read.
  virtual std::string_view read() = 0;
};

class LayerApplier {
 public:
  LayerApplier(Image& image, const std::filesystem::path& staging, const WantedContent& wanted,
               const ImageLimits& limits);

  // Adds a tar, plain or compressed. `digest` is that of the blob, `diff_id` that of the tar in it. Both are compared
  // with the bytes that are read, unless they are empty. Throws SpecError.
  void apply(BlobReader& blob, const std::string& digest, const std::string& diff_id);

 private:
  Image& image_;
  std::filesystem::path staging_;
  const WantedContent& wanted_;
  ImageLimits limits_;
  std::int64_t entries_ = 0;
  std::int64_t unpacked_bytes_ = 0;
  std::int64_t kept_bytes_ = 0;
  std::int64_t kept_files_ = 0;

  friend class LayerReader;
};

[[noreturn]] void throw_image_error(const Image& image, const char* code, const std::string& what);

}  // namespace reprobench
