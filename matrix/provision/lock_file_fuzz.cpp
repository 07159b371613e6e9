// Lock files. ci/fuzz.sh builds and runs it. A finding becomes a test.
#include <cstddef>
#include <cstdint>

#include "matrix/provision/lock_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    reprobench::parse_lock(std::string(reinterpret_cast<const char*>(data), size), "f.lock");
  } catch (const reprobench::SpecError&) {
  }
  return 0;
}
