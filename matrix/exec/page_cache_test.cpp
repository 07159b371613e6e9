#include "matrix/exec/page_cache.hpp"

#include <fstream>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBytes = (9 << 20) + 100;  // no whole number of parts or pages

fs::path written(const fs::path& path, char fill) {
  std::ofstream(path, std::ios::binary) << std::string(kBytes, fill);
  return path;
}

bool is_on_a_disk(const fs::path& folder) {
  struct statfs facts {};
  return statfs(folder.c_str(), &facts) == 0 && facts.f_type != TMPFS_MAGIC;
}

TEST_CASE("files that are cached are dropped and read again, and hold what they held", "[exec]") {
  const TemporaryFolder folder;
  const fs::path one = written(folder.path / "one.so", 'a');
  const fs::path other = written(folder.path / "other.so", 'b');
  const ReadAnew all = read_anew({{one}, {other}}, false);
  CHECK(all.bytes + all.kept_bytes == 2 * kBytes);
  if (is_on_a_disk(folder.path)) CHECK(all.kept_bytes == 0);
  // All of them are cached again, whichever side came first.
  const ReadAnew again = read_anew({{one}, {other}}, true);
  CHECK(again.bytes + again.kept_bytes == 2 * kBytes);
  std::ifstream file(one, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == std::string(kBytes, 'a'));
}

TEST_CASE("what is not cached is not read, and what another process maps stays and is counted", "[exec]") {
  const TemporaryFolder folder;
  const fs::path path = written(folder.path / "library.so", 'a');
  if (!is_on_a_disk(folder.path)) return;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  fdatasync(descriptor);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  CHECK(read_anew({{path}}, false).bytes == 0);
  void* const mapped = mmap(nullptr, 1 << 20, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  REQUIRE(mapped != MAP_FAILED);
  CHECK(read_anew({{path}}, false).kept_bytes >= 1 << 20);
  munmap(mapped, 1 << 20);
  close(descriptor);
}

TEST_CASE("a file of two sides counts once, and what is no file not at all", "[exec]") {
  const TemporaryFolder folder;
  const fs::path path = written(folder.path / "library.so", 'a');
  fs::create_hard_link(path, folder.path / "linked.so");
  const ReadAnew all = read_anew({{path, folder.path / "missing.so", folder.path}, {folder.path / "linked.so"}}, false);
  CHECK(all.bytes + all.kept_bytes == kBytes);
}

}  // namespace
}  // namespace reprobench
