#include "suites/worker/ranks/position.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "matrix/contract/file_descriptor.hpp"

namespace reprobench {

// As it lies in the file. `entered` is written after what it speaks of.
struct PositionFile::Words {
  std::atomic<std::int64_t> entered;
  std::atomic<std::int64_t> left;
  std::int64_t bytes;
  char name[40];
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

namespace {

constexpr std::size_t kFileBytes = 64;
constexpr std::size_t kNameBytes = 40;

}  // namespace

std::string Position::text() const {
  std::string text = "call " + std::to_string(entered) + ", " + name;
  return bytes > 0 ? text + " of " + std::to_string(bytes) + " bytes" : text;
}

PositionFile::PositionFile(const std::filesystem::path& path) {
  static_assert(sizeof(Words) == kFileBytes && sizeof(Words::name) == kNameBytes);
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  void* mapped = MAP_FAILED;
  if (file.get() >= 0 && ftruncate(file.get(), kFileBytes) == 0) {
    mapped = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  }
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), path.string());
  words_ = static_cast<Words*>(mapped);
}

PositionFile::~PositionFile() { munmap(words_, kFileBytes); }

void PositionFile::enter(std::string_view name, std::int64_t bytes) {
  const std::size_t length = std::min(name.size(), kNameBytes - 1);
  std::memcpy(words_->name, name.data(), length);
  words_->name[length] = '\0';
  words_->bytes = bytes;
  words_->entered.fetch_add(1, std::memory_order_release);
}

void PositionFile::leave() {
  words_->left.store(words_->entered.load(std::memory_order_relaxed), std::memory_order_release);
}

Position PositionFile::now() const { return {words_->entered, words_->left, words_->bytes, words_->name}; }

std::optional<Position> read_position(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  char bytes[kFileBytes];
  if (!file.read(bytes, kFileBytes)) return std::nullopt;
  Position position;
  std::memcpy(&position.entered, bytes, 8);
  std::memcpy(&position.left, bytes + 8, 8);
  std::memcpy(&position.bytes, bytes + 16, 8);
  position.name.assign(bytes + 24, strnlen(bytes + 24, kNameBytes));
  return position;
}

}  // namespace reprobench
