#include "suites/worker/peak_memory.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kMega = 1'000'000;

MemoryReading next_reading;
MemoryReading say() { return next_reading; }

// What the kernel says next, in megabytes.
void kernel_says(const MemoryReading& megabytes) {
  next_reading = {megabytes.peak_bytes * kMega, megabytes.anonymous_bytes * kMega, megabytes.shared_bytes * kMega,
                  megabytes.file_bytes * kMega};
}

// The least time between two readings is over.
void note(PeakMemory& memory) {
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  memory.note();
}

// The kernel says these in turn, in megabytes.
ResidentMemory peak_of(const MemoryReading& first, const MemoryReading& second, const MemoryReading& last) {
  kernel_says(first);
  PeakMemory memory(&say);
  kernel_says(second);
  note(memory);
  kernel_says(last);
  return memory.peak();
}

TEST_CASE("a peak between two readings is the mark less the files that were mapped then") {
  const ResidentMemory peak = peak_of({300, 100, 0, 200}, {700, 150, 0, 200}, {700, 150, 0, 200});
  CHECK(peak.anonymous_bytes == 500 * kMega);
  CHECK(peak.all_bytes == 700 * kMega);
}

TEST_CASE("files that the kernel drops after the peak add nothing to it") {
  CHECK(peak_of({300, 100, 0, 200}, {700, 500, 0, 200}, {700, 100, 0, 40}).anonymous_bytes == 500 * kMega);
}

TEST_CASE("files that are mapped after the peak hide nothing of it") {
  CHECK(peak_of({300, 100, 0, 200}, {700, 500, 0, 200}, {750, 100, 0, 650}).anonymous_bytes == 500 * kMega);
}

TEST_CASE("memory that grows while files are dropped is seen, though the mark stays") {
  CHECK(peak_of({700, 500, 0, 200}, {700, 640, 20, 40}, {700, 100, 0, 40}).anonymous_bytes == 660 * kMega);
}

TEST_CASE("memory is read again only after a while") {
  kernel_says({300, 100, 0, 200});
  PeakMemory memory(&say);
  kernel_says({300, 290, 0, 10});
  memory.note();  // at once
  kernel_says({300, 100, 0, 200});
  CHECK(memory.peak().anonymous_bytes == 100 * kMega);
}

TEST_CASE("a file that was mapped and is given back is not counted as the training's own memory") {
  const TemporaryFolder folder;
  constexpr std::size_t kBytes = 64 << 20;
  const std::string path = (folder.path() / "pages").string();
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(ftruncate(file, kBytes) == 0);
  const auto mapped = [&](int flags, int descriptor) {
    void* place = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
    REQUIRE(place != MAP_FAILED);
    std::memset(place, 1, kBytes);
    return place;
  };
  void* pages = mapped(MAP_SHARED, file);
  PeakMemory memory;
  void* block = mapped(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  note(memory);
  const std::int64_t at_peak_bytes = memory.peak().anonymous_bytes;
  munmap(block, kBytes);
  munmap(pages, kBytes);
  // The kernel counts pages by CPU and adds them up now and then, so two readings may be some pages apart.
  CHECK(std::abs(memory.peak().anonymous_bytes - at_peak_bytes) < static_cast<std::int64_t>(kBytes / 8));
  close(file);
}

}  // namespace
}  // namespace reprobench
