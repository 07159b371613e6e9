// Layers of an image, applied in order to one tree.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "matrix/image/image.hpp"

namespace reprobench {

// Bytes of a blob, piece by piece.
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

  // Takes in a tar, plain or compressed. `digest`: of the blob, `diff_id`: of the tar in it; both are held against what
  // is read, an empty one is not. Throws SpecError.
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
