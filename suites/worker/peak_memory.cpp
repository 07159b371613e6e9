#include "suites/worker/peak_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

// A reading takes about 20 us, so a thousandth of the time.
constexpr std::chrono::milliseconds kBetweenReadings{20};

std::int64_t bytes_of(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) throw std::runtime_error("/proc/self/status has no " + std::string(name));
  return std::strtoll(status.data() + at + name.size(), nullptr, 10) * 1024;
}

}  // namespace

// The file stays open: opening it takes longer than reading it.
MemoryReading read_memory() {
  static const FileDescriptor kFile(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  char text[8192];
  const ssize_t size = pread(kFile.get(), text, sizeof text - 1, 0);
  text[std::max<ssize_t>(size, 0)] = '\0';
  const std::string_view status(text);
  return {bytes_of(status, "\nVmHWM:"), bytes_of(status, "\nRssAnon:"), bytes_of(status, "\nRssShmem:"),
          bytes_of(status, "\nRssFile:")};
}

PeakMemory::PeakMemory(Reader read) : read_(read), last_(read()), last_read_(std::chrono::steady_clock::now()) {
  peak_ = {last_.peak_bytes, std::max(last_.peak_bytes - last_.file_bytes, last_.anonymous_bytes + last_.shared_bytes)};
}

void PeakMemory::note() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_read_ < kBetweenReadings) return;
  last_read_ = now;
  take(read_());
}

ResidentMemory PeakMemory::peak() {
  take(read_());
  return peak_;
}

void PeakMemory::take(const MemoryReading& now) {
  std::int64_t held_bytes = now.anonymous_bytes + now.shared_bytes;
  if (now.peak_bytes > last_.peak_bytes) {
    held_bytes = std::max(held_bytes, now.peak_bytes - std::max(last_.file_bytes, now.file_bytes));
  }
  peak_ = {std::max(peak_.all_bytes, now.peak_bytes), std::max(peak_.anonymous_bytes, held_bytes)};
  last_ = now;
}

}  // namespace reprobench
