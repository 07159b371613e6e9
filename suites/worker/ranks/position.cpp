#include "suites/worker/ranks/position.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kNameBytes = 32;
constexpr std::size_t kDetailBytes = 40;
constexpr std::int64_t kSlots = 32;  // a rank is never so many calls ahead of another that it waits for in each

void put(char* to, std::size_t capacity, std::string_view text) {
  const std::size_t length = std::min(text.size(), capacity - 1);
  std::memcpy(to, text.data(), length);
  std::memset(to + length, 0, capacity - length);
}

}  // namespace

struct PositionFile::Words {
  // A call as it lies in the file.
  struct Slot {
    std::atomic<std::int64_t> number;  // written last; 0 while the rest is
    std::int64_t bytes;
    char name[kNameBytes];
    char detail[kDetailBytes];
  };

  std::atomic<std::int64_t> entered;
  std::atomic<std::int64_t> left;
  Slot slots[kSlots];

  Slot& slot(std::int64_t number) { return slots[number % kSlots]; }
};

namespace {

void* mapped(const std::filesystem::path& path, int flags, std::size_t bytes, bool is_own) {
  const FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat status {};
  errno = file.get() < 0 ? errno : 0;
  if (file.get() < 0 || (is_own && ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) ||
      fstat(file.get(), &status) != 0 || status.st_size != static_cast<off_t>(bytes)) {
    throw std::system_error(errno != 0 ? errno : EINVAL, std::generic_category(), path.string());
  }
  void* const memory = mmap(nullptr, bytes, is_own ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), path.string());
  return memory;
}

}  // namespace

std::string CollectiveCall::text() const {
  std::string text = name;
  if (bytes > 0) text += " of " + std::to_string(bytes) + " bytes";
  return detail.empty() ? text : text + " (" + detail + ")";
}

const CollectiveCall* Position::call(std::int64_t number) const {
  const std::int64_t back = entered - number;
  if (back < 0 || back >= static_cast<std::int64_t>(recent.size())) return nullptr;
  return &recent[recent.size() - 1 - static_cast<std::size_t>(back)];
}

std::string Position::text() const {
  return "call " + std::to_string(entered) + (recent.empty() ? "" : ", " + recent.back().text());
}

PositionFile::PositionFile(const std::filesystem::path& path)
    : words_(static_cast<Words*>(mapped(path, O_RDWR | O_CREAT | O_TRUNC, sizeof(Words), true))) {
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
}

PositionFile PositionFile::of_other(const std::filesystem::path& path) {
  return PositionFile(static_cast<Words*>(mapped(path, O_RDONLY, sizeof(Words), false)));
}

PositionFile::PositionFile(PositionFile&& other) noexcept : words_(std::exchange(other.words_, nullptr)) {}

PositionFile::~PositionFile() {
  if (words_ != nullptr) munmap(words_, sizeof(Words));
}

void PositionFile::enter(std::string_view name, std::int64_t bytes, std::string_view detail) {
  const std::int64_t number = words_->entered.load(std::memory_order_relaxed) + 1;
  Words::Slot& slot = words_->slot(number);
  slot.number.store(0, std::memory_order_release);
  slot.bytes = bytes;
  put(slot.name, kNameBytes, name);
  put(slot.detail, kDetailBytes, detail);
  slot.number.store(number, std::memory_order_release);
  words_->entered.store(number, std::memory_order_release);
}

void PositionFile::leave() {
  words_->left.store(words_->entered.load(std::memory_order_relaxed), std::memory_order_release);
}

Position PositionFile::now() const {
  Position position{words_->entered.load(std::memory_order_acquire), words_->left.load(std::memory_order_acquire), {}};
  // Backwards, until one that is being written over or never was.
  for (std::int64_t number = position.entered; number > std::max<std::int64_t>(position.entered - kSlots, 0);
       --number) {
    const Words::Slot& slot = words_->slot(number);
    if (slot.number.load(std::memory_order_acquire) != number) break;
    CollectiveCall call{std::string(slot.name, strnlen(slot.name, kNameBytes)), slot.bytes,
                        std::string(slot.detail, strnlen(slot.detail, kDetailBytes))};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.number.load(std::memory_order_relaxed) != number) break;
    position.recent.insert(position.recent.begin(), std::move(call));
  }
  return position;
}

bool PositionFile::differs_from(const PositionFile& other) const {
  const std::int64_t number = words_->entered.load(std::memory_order_relaxed);
  const Words::Slot& own = words_->slot(number);
  const Words::Slot& its = other.words_->slot(number);
  if (its.number.load(std::memory_order_acquire) != number) return false;
  const bool differs = own.bytes != its.bytes || std::memcmp(own.name, its.name, kNameBytes) != 0 ||
                       std::memcmp(own.detail, its.detail, kDetailBytes) != 0;
  std::atomic_thread_fence(std::memory_order_acquire);
  return differs && its.number.load(std::memory_order_relaxed) == number;
}

std::optional<Position> read_position(const std::filesystem::path& path) {
  try {
    return PositionFile::of_other(path).now();
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

}  // namespace reprobench
