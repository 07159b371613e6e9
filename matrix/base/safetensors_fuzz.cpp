// Tensor files of workers and strangers. ci/fuzz.sh builds and runs it. A finding becomes a test.
#include <cstddef>
#include <cstdint>
#include <span>

#include "matrix/base/contract_error.hpp"
#include "matrix/base/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    reprobench::parse_safetensors("f", std::as_bytes(std::span(data, size)));
  } catch (const reprobench::ContractError&) {
  }
  return 0;
}
