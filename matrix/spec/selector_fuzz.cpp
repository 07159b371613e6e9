// Expressions of `--filter`, `where` and `exclude`. ci/fuzz.sh builds and runs it. A finding becomes a test.
#include <cstddef>
#include <cstdint>

#include "matrix/spec/selector.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    reprobench::Selector::parse(std::string(reinterpret_cast<const char*>(data), size), {"e", 1, 1});
  } catch (const reprobench::SpecError&) {
  }
  return 0;
}
