#include "matrix/record/safetensors.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "matrix/base/regular_file.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& problem) {
  throw StoreError("cannot read " + path.string() + ": " + problem);
}

// The whole file; empty for an empty one, which cannot be mapped.
std::span<const std::byte> map_file(const std::filesystem::path& path, int fd, std::uint64_t size_bytes) {
  if (size_bytes == 0) return {};
  const auto size = static_cast<std::size_t>(size_bytes);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) refuse(path, std::strerror(errno));
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
  RegularFile opened = open_regular_file(path);
  if (!opened.problem.empty()) refuse(path, opened.problem);
  const auto size_bytes = static_cast<std::uint64_t>(opened.size_bytes);
  const auto mapping = map_file(path, opened.fd.get(), size_bytes);
  // The object owns the mapping before anything in it can be found wrong.
  SafetensorsFile file(path, std::move(opened.fd), mapping);
  const auto read_first = [&](std::uint64_t count) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(count, size_bytes)));
    file.read(0, bytes);
    return bytes;
  };
  const std::uint64_t head_bytes = safetensors_head_bytes(path.string(), read_first(sizeof(std::uint64_t)), size_bytes);
  SafetensorsHeader header = parse_safetensors(path.string(), read_first(head_bytes), size_bytes);
  file.metadata_ = std::move(header.metadata);
  for (SafetensorsEntry& entry : header.tensors) {
    const auto size = static_cast<std::size_t>(entry.end_bytes - entry.begin_bytes);
    file.tensors_.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape),
                             file.mapping_.subspan(static_cast<std::size_t>(entry.begin_bytes), size),
                             entry.begin_bytes});
  }
  return file;
}

void SafetensorsFile::read(std::uint64_t offset_bytes, std::span<std::byte> bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        pread(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset_bytes + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(path_, std::strerror(errno));
    if (count == 0) {
      refuse(path_, "was cut while it was read: it had " + std::to_string(mapping_.size()) + " bytes, and has " +
                        std::to_string(offset_bytes + done) + " or fewer");
    }
    done += static_cast<std::size_t>(count);
  }
}

SafetensorsFile::SafetensorsFile(std::filesystem::path path, FileDescriptor fd, std::span<const std::byte> mapping)
    : path_(std::move(path)), fd_(std::move(fd)), mapping_(mapping) {}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      mapping_(std::exchange(other.mapping_, {})),
      tensors_(std::move(other.tensors_)),
      metadata_(std::move(other.metadata_)) {}

SafetensorsFile::~SafetensorsFile() {
  if (!mapping_.empty()) munmap(const_cast<std::byte*>(mapping_.data()), mapping_.size());
}

}  // namespace reprobench
