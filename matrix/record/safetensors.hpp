// A safetensors file, mapped into memory, with its tensors as named views of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/base/safetensors.hpp"

namespace reprobench {

// Valid while its file is open. The bytes may be unaligned.
struct TensorView {
  std::string name;
  std::string dtype;  // "F32"; one that safetensors_dtype() does not know is opaque
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
  std::uint64_t offset_bytes = 0;  // of the first byte in the file
};

// Finds a tensor in a list ordered by name; null if there is none.
const TensorView* find_tensor(std::span<const TensorView> tensors, std::string_view name);

class SafetensorsFile {
 public:
  // Follows symbolic links, and never waits for a FIFO. Throws StoreError if the file cannot be opened or is no regular
  // file, and ContractError (parse_safetensors) for its content. If someone cuts the file while a tensor's bytes are
  // looked at, the process ends; `read` has an error for it.
  static SafetensorsFile open(const std::filesystem::path& path);

  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) = delete;
  ~SafetensorsFile();

  const std::filesystem::path& path() const { return path_; }
  std::span<const TensorView> tensors() const { return tensors_; }  // by name
  const SafetensorsMetadata& metadata() const { return metadata_; }

  // Copies bytes of the file, so that none of it stays in the memory of the process. Throws StoreError if the file was
  // cut since it was opened.
  void read(std::uint64_t offset_bytes, std::span<std::byte> bytes) const;

 private:
  SafetensorsFile(std::filesystem::path path, FileDescriptor fd, std::span<const std::byte> mapping);

  std::filesystem::path path_;
  FileDescriptor fd_;
  std::span<const std::byte> mapping_;
  std::vector<TensorView> tensors_;
  SafetensorsMetadata metadata_;
};

}  // namespace reprobench
