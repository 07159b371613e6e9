// DeepSpeed configurations, from bytes to the document. ci/fuzz.sh builds and runs it. A finding becomes a row of
// json_reader_test.cpp or rules_test.cpp.
#include <cstddef>
#include <cstdint>

#include "matrix/contract/document/writer.hpp"
#include "matrix/lint/lint.hpp"
#include "matrix/spec/files/json_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  reprobench::LintSituation situation;
  situation.world_size = reprobench::SourcedNumber{8, "fuzz"};
  situation.gpus_per_host = reprobench::SourcedNumber{4, "fuzz"};
  situation.gpu_memory_bytes = reprobench::SourcedNumber{1 << 30, "fuzz"};
  situation.host_memory_bytes = reprobench::SourcedNumber{1 << 30, "fuzz"};
  situation.parameters = 1'000'000'000'000'000;
  try {
    const reprobench::DeepSpeedConfig config(reprobench::read_json(text, "ds.json"));
    for (const std::string& path : reprobench::offload_paths(config)) situation.folders[path] = {};
    reprobench::written(reprobench::lint(config, "ds.json", situation)).dump();
  } catch (const reprobench::SpecError&) {
  }
  return 0;
}
