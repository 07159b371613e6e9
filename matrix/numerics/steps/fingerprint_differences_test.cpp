#include "matrix/numerics/steps/fingerprint_differences.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

std::vector<std::string> texts(const Fingerprint& measured, const Fingerprint& expected) {
  std::vector<std::string> texts;
  for (const auto& [part, difference] : fingerprint_differences(measured, expected)) {
    texts.push_back(difference.what + ": " + sides_text(difference));
  }
  return texts;
}

TEST_CASE("every difference is named once, in the order of the parts", "[verdict]") {
  Fingerprint a;
  a.components = {{"torch", "2.8.0", "2.8.0+cu128", "lib"}, {"cudnn", "9.8", "9.10.2", "lib"}};
  a.blas_provider = "mkl";
  a.environment = {{"OMP_NUM_THREADS", "2"}};
  Fingerprint b = a;
  CHECK(texts(a, b).empty());
  b.components[0].loaded = "2.9.0+cu128";
  b.components.pop_back();
  b.blas_provider = "openblas";
  b.flags = {{"deterministic_algorithms", "on"}};
  b.environment.clear();
  CHECK(texts(a, b) == std::vector<std::string>{"cudnn: `9.10.2` against not loaded",
                                                "torch: `2.8.0+cu128` against `2.9.0+cu128`",
                                                "blas provider: `mkl` against `openblas`",
                                                "setting deterministic_algorithms: none against `on`",
                                                "variable OMP_NUM_THREADS: `2` against none"});
}

TEST_CASE("every part of a fingerprint is named as what it is, measured side first", "[verdict]") {
  Fingerprint a;
  a.cpu_capability = "AVX2";
  a.cpu_model = "one";
  a.threads = 1;
  a.compiler = "gcc 12";
  a.libraries = {{"/x/libone.so", "11"}, {"/x/libtwo.so", "22"}, {"/x/libalone.so", ""}};
  a.flags = {{"deterministic_algorithms", "on"}, {"same", "on"}};
  Fingerprint b = a;
  b.cpu_capability = "AVX512";
  b.cpu_model = "two";
  b.threads = 8;
  b.compiler = "gcc 13";
  b.device = DeviceFacts{};
  b.device->name = "NVIDIA H100";
  b.device->sm_count = 132;
  b.libraries[1].build_id = "33";
  b.flags["deterministic_algorithms"] = "warn_only";
  CHECK(texts(a, b) ==
        std::vector<std::string>{
            "vector instructions: `AVX2` against `AVX512`", "device: none against `NVIDIA H100, 132 SMs`",
            "cpu: `one` against `two`", "threads: `1` against `8`", "worker compiler: `gcc 12` against `gcc 13`",
            "build of libtwo.so: `22` against `33`", "setting deterministic_algorithms: `on` against `warn_only`"});
  std::vector<FingerprintPart> parts;
  for (const FingerprintDifference& difference : fingerprint_differences(a, b)) parts.push_back(difference.part);
  using enum FingerprintPart;
  CHECK(parts == std::vector<FingerprintPart>{instructions, gpu, cpu, threads, compiler, build, setting});
  a.components = {{"cudnn", "9.8", "9.8", ""}};
  a.blas_provider = "mkl";
  CHECK(texts(b, a)[0] == "cudnn: not loaded against `9.8`");
  CHECK(texts(b, a)[1] == "blas provider: not loaded against `mkl`");
}

TEST_CASE("a component that was not loaded counts by what was compiled against", "[verdict]") {
  Fingerprint a;
  a.components = {{"mkl", "2024.1", "", ""}};
  Fingerprint b = a;
  CHECK(texts(a, b).empty());
  b.components[0].compiled = "2024.2";
  CHECK(texts(a, b) == std::vector<std::string>{"mkl: `2024.1` against `2024.2`"});
}

}  // namespace
}  // namespace reprobench
