#include "matrix/verdict/fingerprint_differences.hpp"

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
