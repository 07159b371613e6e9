#include "matrix/record/safetensors.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

// The whole file; empty for an empty one, which cannot be mapped.
std::span<const std::byte> map_file(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& problem) -> void {
    throw StoreError("cannot read " + path.string() + ": " + problem);
  };
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd.is_open() || fstat(fd.get(), &status) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file");
  if (status.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) refuse(std::strerror(errno));
  return {static_cast<const std::byte*>(address), size};
}

}  // namespace

const TensorView* find_tensor(std::span<const TensorView> tensors, std::string_view name) {
  const auto found =
      std::lower_bound(tensors.begin(), tensors.end(), name,
                       [](const TensorView& view, std::string_view wanted) { return view.name < wanted; });
  return found == tensors.end() || found->name != name ? nullptr : &*found;
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  // The object owns the mapping before anything in it can be found wrong.
  SafetensorsFile file(path, map_file(path));
  SafetensorsHeader header = parse_safetensors(path.string(), file.mapping_);
  file.metadata_ = std::move(header.metadata);
  for (SafetensorsEntry& entry : header.tensors) {
    const auto size = static_cast<std::size_t>(entry.end_bytes - entry.begin_bytes);
    file.tensors_.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape),
                             file.mapping_.subspan(static_cast<std::size_t>(entry.begin_bytes), size),
                             entry.begin_bytes});
  }
  return file;
}

SafetensorsFile::SafetensorsFile(std::filesystem::path path, std::span<const std::byte> mapping)
    : path_(std::move(path)), mapping_(mapping) {}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(std::move(other.path_)),
      mapping_(std::exchange(other.mapping_, {})),
      tensors_(std::move(other.tensors_)),
      metadata_(std::move(other.metadata_)) {}

SafetensorsFile::~SafetensorsFile() {
  if (!mapping_.empty()) munmap(const_cast<std::byte*>(mapping_.data()), mapping_.size());
}

}  // namespace reprobench
