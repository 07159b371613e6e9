#include "matrix/exec/page_cache.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

// More than the kernel reads ahead, so that the pages of a part come as if the file were read alone.
constexpr std::int64_t kPartBytes = 4 << 20;

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!fd_.is_open() || fstat(fd_.get(), &status_) != 0 || !S_ISREG(status_.st_mode)) status_.st_size = 0;
  }

  std::int64_t size_bytes() const { return status_.st_size; }
  std::pair<dev_t, ino_t> identity() const { return {status_.st_dev, status_.st_ino}; }

  // One flag a page: whether it is cached. Empty if that is not known.
  std::vector<bool> cached_pages() const {
    const auto size = static_cast<std::size_t>(size_bytes());
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (size == 0) return {};
    void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_.get(), 0);
    if (mapped == MAP_FAILED) return {};
    std::vector<unsigned char> flags((size + page - 1) / page);
    const bool is_known = mincore(mapped, size, flags.data()) == 0;
    munmap(mapped, size);
    std::vector<bool> cached;
    for (const unsigned char flag : flags) cached.push_back(is_known && (flag & 1U) != 0);
    return cached;
  }

  // Pages that are not on the disk yet cannot be dropped, so they are written first.
  void drop() const {
    fdatasync(fd_.get());
    posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
  }

  void read(std::int64_t from, std::int64_t bytes, std::vector<char>& buffer) const {
    buffer.resize(static_cast<std::size_t>(bytes));
    while (bytes > 0) {
      const ssize_t count = pread(fd_.get(), buffer.data(), static_cast<std::size_t>(bytes), from);
      if (count <= 0) return;
      from += count;
      bytes -= count;
    }
  }

 private:
  FileDescriptor fd_;
  struct stat status_ {};
};

struct Part {
  std::size_t file = 0;
  std::int64_t from = 0;
  std::int64_t bytes = 0;
};

// Runs of cached pages, cut into parts.
void add_parts(const std::vector<bool>& cached, std::size_t file, std::int64_t size_bytes, std::vector<Part>& parts) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  for (std::size_t i = 0; i < cached.size(); ++i) {
    if (!cached[i]) continue;
    const std::int64_t from = static_cast<std::int64_t>(i) * page;
    const std::int64_t bytes = std::min(page, size_bytes - from);
    const bool goes_on = !parts.empty() && parts.back().file == file &&
                         parts.back().from + parts.back().bytes == from && parts.back().bytes < kPartBytes;
    if (goes_on) {
      parts.back().bytes += bytes;
    } else {
      parts.push_back({file, from, bytes});
    }
  }
}

std::int64_t total_bytes(const std::vector<Part>& parts) {
  std::int64_t sum = 0;
  for (const Part& part : parts) sum += part.bytes;
  return sum;
}

}  // namespace

ReadAnew read_anew(const std::vector<std::vector<std::filesystem::path>>& sides, bool is_reversed) {
  std::vector<OpenFile> files;
  std::vector<std::vector<Part>> parts(sides.size());
  std::set<std::pair<dev_t, ino_t>> seen;
  ReadAnew result;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    for (const std::filesystem::path& path : sides[side]) {
      OpenFile file(path);
      if (file.size_bytes() == 0 || !seen.insert(file.identity()).second) continue;
      std::vector<Part> cached;
      add_parts(file.cached_pages(), files.size(), file.size_bytes(), cached);
      file.drop();
      std::vector<Part> kept;
      add_parts(file.cached_pages(), files.size(), file.size_bytes(), kept);
      result.kept_bytes += total_bytes(kept);
      result.bytes += total_bytes(cached) - std::min(total_bytes(cached), total_bytes(kept));
      parts[side].insert(parts[side].end(), cached.begin(), cached.end());
      files.push_back(std::move(file));
    }
  }
  if (is_reversed) std::reverse(parts.begin(), parts.end());
  std::size_t most = 0;
  for (const std::vector<Part>& of_side : parts) most = std::max(most, of_side.size());
  std::vector<char> buffer;
  for (std::size_t i = 0; i < most; ++i) {
    for (const std::vector<Part>& of_side : parts) {
      if (i < of_side.size()) files[of_side[i].file].read(of_side[i].from, of_side[i].bytes, buffer);
    }
  }
  return result;
}

}  // namespace reprobench
