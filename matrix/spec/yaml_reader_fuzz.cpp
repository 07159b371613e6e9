// Matrix, suite and stack files. ci/fuzz.sh builds and runs it. A finding becomes a row of bad_input_test.cpp.
#include <cstddef>
#include <cstdint>

#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace {

template <class Parse>
void survives(Parse parse) {
  try {
    parse();
  } catch (const reprobench::SpecError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const reprobench::Vocabulary nothing_known;
  survives([&] { reprobench::parse_matrix(text, "m.yaml", nothing_known); });
  survives([&] { reprobench::parse_suite(text, "s.yaml", nothing_known); });
  survives([&] { reprobench::parse_stack(text, "t.yaml"); });
  return 0;
}
