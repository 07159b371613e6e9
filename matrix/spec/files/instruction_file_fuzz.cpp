// A user's file of instructions. ci/fuzz.sh builds and runs it. A finding becomes a row of instruction_file_test.cpp.
#include <cstddef>
#include <cstdint>

#include "matrix/spec/files/instruction_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    reprobench::parse_instruction_file({reinterpret_cast<const char*>(data), size}, "my.json");
  } catch (const reprobench::SpecError&) {
  }
  return 0;
}
