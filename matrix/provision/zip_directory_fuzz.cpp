// Directories of zip archives. ci/fuzz.sh builds and runs it. A finding becomes a test.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/zip_directory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A file in memory: the reader wants a path.
  static const int file = memfd_create("archive.whl", MFD_CLOEXEC);
  static const std::filesystem::path path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  try {
    reprobench::read_zip_directory(path);
  } catch (const reprobench::ProvisionError&) {
  }
  return 0;
}
