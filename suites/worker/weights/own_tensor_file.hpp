// A safetensors file of the user's, read once from front to back. Everything that is read goes into its digest, so the
// bytes used are the bytes hashed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/base/plain_sha256.hpp"
#include "matrix/base/safetensors.hpp"

namespace reprobench {

class OwnTensorFile {
 public:
  // Reads the head. Throws RunFailure "input_changed" if it is no complete safetensors file, since it was one when the
  // cell was planned.
  explicit OwnTensorFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<SafetensorsEntry>& tensors() const { return tensors_; }  // by name

  // Takes a part of a tensor: the tensor, the offset of the first byte in it, and the bytes, which are whole elements.
  using Take = std::function<void(const SafetensorsEntry&, std::uint64_t, std::span<const std::byte>)>;

  // Hands over every tensor in the order of the file, in parts of at most 1 MiB. Call it once. Throws as the
  // constructor.
  void read(const Take& take);

  // The SHA-256 of the whole file, once it has been read.
  std::string sha256() { return sha_.finish(); }

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  void fill(std::span<std::byte> bytes);

  std::filesystem::path path_;
  FileDescriptor fd_;
  std::vector<SafetensorsEntry> tensors_;
  PlainSha256 sha_;
};

}  // namespace reprobench
