// libFuzzer entry for every parser of this layer. Not part of the build; by hand, with clang:
//   clang++ -std=c++20 -g -O1 -I. -fsanitize=fuzzer,address,undefined matrix/spec/*.cpp ... (without *_test.cpp)
// Seeds: matrix/*.yaml, matrix/stacks/*.yaml, suites/definitions/*.yaml. A finding becomes a row of bad_input_test.cpp.
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
  survives([&] { reprobench::Selector::parse(text, {"e", 1, 1}); });
  survives([&] { reprobench::parse_inject_option(text); });
  return 0;
}
