#include "suites/worker/knobs.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "suites/worker/float32_precision.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/stack_probe.hpp"

namespace reprobench {
namespace {

TEST_CASE("every knob of the contract has a row, with no value the contract lacks", "[worker]") {
  const auto support = knob_support();
  REQUIRE(support.size() == knobs().size());
  for (std::size_t i = 0; i < support.size(); ++i) {
    CHECK(support[i].name == knobs()[i].name);
    for (const std::string& value : support[i].values) CHECK(accepts(knobs()[i], value));
    const bool is_complete = support[i].values.size() == knobs()[i].values.size();
    CHECK(support[i].reason.empty() == is_complete);
  }
}

TEST_CASE("knobs change LibTorch's settings and come back as what they came to", "[worker]") {
  const KnobValues strict = apply_knobs(with_defaults({{"determinism", "strict"}, {"tf32", "off"}, {"threads", "1"}}));
  CHECK(strict.size() == knobs().size());
  CHECK(at::globalContext().deterministicAlgorithms());
  CHECK_FALSE(at::globalContext().deterministicAlgorithmsWarnOnly());
  CHECK(float32_precision("matmul") == "ieee");
  CHECK(float32_precision("conv") == "ieee");
  CHECK(at::get_num_threads() == 1);
  CHECK(at::get_num_interop_threads() == 1);

  const KnobValues loose =
      apply_knobs(with_defaults({{"determinism", "off"}, {"tf32", "on"}, {"threads", "2"}, {"onednn", "off"}}));
  CHECK_FALSE(at::globalContext().deterministicAlgorithms());
  CHECK(float32_precision("matmul") == "tf32");
  CHECK(at::get_num_threads() == 2);
  CHECK_FALSE(at::globalContext().userEnabledMkldnn());
  CHECK(loose.at("onednn") == "off");
  apply_knobs(with_defaults({}));
}

TEST_CASE("a knob whose environment is missing says that it came to the other value", "[worker]") {
  unsetenv("MALLOC_MMAP_THRESHOLD_");
  CHECK(apply_knobs(with_defaults({{"allocator", "retain"}})).at("allocator") == "system");
}

TEST_CASE("an unknown knob or value is a bad request", "[worker]") {
  CHECK_THROWS_WITH(apply_knobs({{"speed", "on"}}), "there is no knob `speed`");
  CHECK_THROWS_WITH(apply_knobs({{"tf32", "maybe"}}), "knob `tf32` does not take `maybe`");
}

TEST_CASE("bf16 computes in bfloat16 inside the scope and nowhere else", "[worker]") {
  const at::Tensor a = at::zeros({4, 4});
  {
    const AutocastScope scope(Precision::bf16);
    CHECK(at::matmul(a, a).scalar_type() == at::kBFloat16);
  }
  CHECK(at::matmul(a, a).scalar_type() == at::kFloat);
  {
    const AutocastScope scope(Precision::fp32);
    CHECK(at::matmul(a, a).scalar_type() == at::kFloat);
  }
}

TEST_CASE("a configuration value ends at a comma, a bracket or the line", "[worker]") {
  const std::string text = "  - Library v3.7.1 (Git Hash x)\n  - usage: AVX2\n CUDA_VERSION=12.8, LAST=1\n";
  CHECK(config_value(text, "Library v") == "3.7.1");
  CHECK(config_value(text, "usage: ") == "AVX2");
  CHECK(config_value(text, "CUDA_VERSION=") == "12.8");
  CHECK(config_value(text, "LAST=") == "1");
  CHECK(config_value(text, "absent=").empty());
}

}  // namespace
}  // namespace reprobench
