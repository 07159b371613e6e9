// Indices of strangers' weights. ci/fuzz.sh builds and runs it. A finding becomes a test.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "matrix/spec/files/weights_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto index = reprobench::parse_weights_index({reinterpret_cast<const char*>(data), size}, "f");
    for (const auto& tensor : index.tensors) {
      if (tensor.shard.find('/') != std::string::npos) std::abort();  // leaves the folder
    }
  } catch (const reprobench::SpecError&) {
  }
  return 0;
}
