// Lists of operator calls, from bytes to canonical calls. ci/fuzz.sh builds and runs it. A finding becomes a row of
// call_list_test.cpp.
#include <cstddef>
#include <cstdint>

#include "matrix/spec/files/call_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    reprobench::parse_call_list(text, "calls.yaml");
  } catch (const reprobench::SpecError&) {
  }
  return 0;
}
