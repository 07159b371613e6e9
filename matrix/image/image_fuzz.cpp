// Images of every form. ci/fuzz.sh builds and runs it. A finding becomes a test.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "ci/temporary.hpp"
#include "matrix/image/inspection.hpp"
#include "matrix/spec/spec_error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A file in memory: the reader wants a path.
  static const int file = memfd_create("image.tar", MFD_CLOEXEC);
  static const std::filesystem::path path = "/proc/self/fd/" + std::to_string(file);
  static const reprobench::TemporaryFolder folder;
  static const std::filesystem::path& staging = folder.path;
  static const reprobench::CompatFacts facts = reprobench::load_compat_facts("matrix/facts/compat-facts.json");
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  reprobench::ImageLimits limits;
  limits.most_entries = 1'000;
  limits.most_unpacked_bytes = 1 << 20;
  limits.most_kept_bytes = 1 << 20;
  try {
    const reprobench::Image image = reprobench::read_image(path, staging, reprobench::is_evidence, "", limits);
    reprobench::to_junit(reprobench::inspect_image(image, {}, facts));
  } catch (const reprobench::SpecError&) {
  }
  std::filesystem::remove_all(staging);
  std::filesystem::create_directories(staging);
  return 0;
}
