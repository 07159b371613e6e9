// The text of `--inject`. ci/fuzz.sh builds and runs it. A finding becomes a test.
#include <cstddef>
#include <cstdint>

#include "matrix/spec/matrix_spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    reprobench::parse_inject_option(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const reprobench::SpecError&) {
  }
  return 0;
}
