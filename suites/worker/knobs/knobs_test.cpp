#include "suites/worker/knobs/knobs.hpp"

#include <algorithm>
#include <type_traits>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/knobs/float32_precision.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/stack_probe.hpp"

namespace reprobench {
namespace {

TEST_CASE("every knob of the contract is known here, with no value the contract lacks", "[worker]") {
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
  at::Context& context = at::globalContext();
  const KnobValues strict = apply_knobs(with_defaults({{"determinism", "strict"}, {"threads", "1"}}));
  CHECK(strict.size() == knobs().size());
  CHECK(context.deterministicAlgorithms());
  CHECK_FALSE(context.deterministicAlgorithmsWarnOnly());
  CHECK(context.deterministicCuDNN());
  CHECK(float32_precision("matmul") == "ieee");
  CHECK(float32_precision("conv") == "ieee");
  CHECK(at::get_num_threads() == 1);
  CHECK(at::get_num_interop_threads() == 1);

  const KnobValues loose = apply_knobs(with_defaults({{"determinism", "fast"}, {"threads", "2"}, {"onednn", "off"}}));
  CHECK_FALSE(context.deterministicAlgorithms());
  CHECK_FALSE(context.deterministicCuDNN());
  CHECK(at::get_num_threads() == 2);
  CHECK_FALSE(context.userEnabledMkldnn());
  CHECK(loose.at("onednn") == "off");
  apply_knobs(with_defaults({}));
}

template <class Context>
void check_reductions(Context& context, bool reduced) {
  const auto check = [&](auto option) {
    if constexpr (std::is_enum_v<decltype(option)>) {
      using Option = decltype(option);
      CHECK(option ==
            (reduced ? Option::AllowReducedPrecisionWithSplitK : Option::DisallowReducedPrecisionAllowSplitK));
    } else {
      CHECK(option == reduced);
    }
  };
  check(context.allowFP16ReductionCuBLAS());
  if constexpr (requires { context.allowBF16ReductionCuBLAS(); }) check(context.allowBF16ReductionCuBLAS());
}

// Forbidding it makes plain cuBLAS, the default, refuse every product of 16-bit numbers.
TEST_CASE("no preset forbids LibTorch to split a 16-bit product along its depth", "[worker]") {
  for (const char* preset : {"strict", "default", "fast"}) {
    CAPTURE(preset);
    apply_knobs(with_defaults({{"determinism", preset}}));
    check_reductions(at::globalContext(), std::string(preset) != "strict");
  }
  apply_knobs(with_defaults({}));
}

// Both old getters throw where old and new settings disagree; LibTorch 2.9 asks them before each product.
TEST_CASE("TF32 is on or off for the old settings and the new ones alike", "[worker]") {
  const at::Context& context = at::globalContext();
  for (const bool on : {true, false, true, false}) {
    set_tf32(on);
    CHECK(context.allowTF32CuBLAS() == on);
    CHECK(context.allowTF32CuDNN() == on);
    for (const char* operation : {"matmul", "conv"}) CHECK(float32_precision(operation) == (on ? "tf32" : "ieee"));
  }
}

TEST_CASE("unified memory and a CUDA graph are asked of the device", "[worker]") {
  const auto options = [](const KnobValues& chosen) { return device_options_of(settings_of(chosen)); };
  CHECK_FALSE(options({}).unified_memory);
  CHECK_FALSE(options({}).records_steps);
  CHECK(options({{"cuda_allocator", "unified"}}).unified_memory);
  CHECK_FALSE(options({{"cuda_allocator", "malloc_async"}}).unified_memory);
  CHECK(options({{"cuda_graph", "on"}}).records_steps);
}

TEST_CASE("a knob follows the determinism preset until it is set itself", "[worker]") {
  const auto resolved = [](KnobValues chosen, const char* name) { return apply_knobs(with_defaults(chosen)).at(name); };
  CHECK(resolved({{"determinism", "strict"}}, "cudnn_benchmark") == "off");
  CHECK(resolved({{"determinism", "default"}}, "cudnn_benchmark") == "off");
  CHECK(resolved({{"determinism", "fast"}}, "cudnn_benchmark") == "on");
  CHECK(at::globalContext().benchmarkCuDNN());
  CHECK(resolved({{"determinism", "strict"}}, "reduced_reduction") == "off");
  CHECK(resolved({{"determinism", "default"}}, "reduced_reduction") == "on");
  CHECK(resolved({{"determinism", "default"}}, "flush_denormals") == "off");
  CHECK(resolved({{"determinism", "fast"}}, "flush_denormals") == "on");
  CHECK(resolved({{"determinism", "fast"}, {"flush_denormals", "off"}}, "flush_denormals") == "off");
  apply_knobs(with_defaults({}));
}

TEST_CASE("flushing denormals rounds a denormal product to zero, and not flushing keeps it", "[worker]") {
  const auto tiny_product = [] {
    const at::Tensor tiny = at::full({64}, 1e-30F);
    return at::mul(tiny, at::full({64}, 1e-10F)).abs().max().item<float>();
  };
  apply_knobs(with_defaults({{"flush_denormals", "on"}}));
  const float flushed = tiny_product();
  apply_knobs(with_defaults({{"flush_denormals", "off"}}));
  const float kept = tiny_product();
  CHECK(flushed == 0);
  CHECK(kept > 0);
}

TEST_CASE("deterministic filling shows in fresh memory where the release has it, and comes to off elsewhere",
          "[worker]") {
  const std::string on = apply_knobs(with_defaults({})).at("deterministic_fill");
  const auto& support = knob_support();
  const auto row = std::find_if(support.begin(), support.end(),
                                [](const KnobSupport& knob) { return knob.name == "deterministic_fill"; });
  REQUIRE(row != support.end());
  CHECK(on == (row->reason.empty() ? "on" : "off"));
  if (row->reason.empty()) CHECK(at::empty({64}, at::kFloat).isnan().all().item<bool>());
  CHECK(apply_knobs(with_defaults({{"determinism", "default"}})).at("deterministic_fill") == "off");
  apply_knobs(with_defaults({}));
}

TEST_CASE("a chosen value the stack cannot honour is refused with the reason, never dropped", "[worker]") {
  const auto refused = [](const KnobValues& chosen) -> std::string {
    try {
      apply_knobs(with_defaults(chosen));
    } catch (const RunFailure& failure) {
      CHECK(failure.cause() == "unsupported");
      return failure.what();
    }
    return "";
  };
  const std::string on_gpu = "here: acts on a GPU, and this worker was built without CUDA";
  CHECK(refused({{"tf32", "on"}}) == "knob `tf32` cannot be `on` " + on_gpu);
  CHECK(refused({{"cudnn_benchmark", "on"}}) == "knob `cudnn_benchmark` cannot be `on` " + on_gpu);
  CHECK(refused({{"reduced_reduction", "on"}}) == "knob `reduced_reduction` cannot be `on` " + on_gpu);
  for (const KnobSupport& support : knob_support()) {
    for (const std::string_view value : find_knob(support.name)->values) {
      const bool honoured = std::find(support.values.begin(), support.values.end(), value) != support.values.end();
      if (!honoured) CHECK(refused({{support.name, std::string(value)}}).find(support.reason) != std::string::npos);
    }
  }
  apply_knobs(with_defaults({}));
}

TEST_CASE("libraries of which this stack has none are not offered as a choice", "[worker]") {
  for (const KnobSupport& support : knob_support()) {
    if (support.name == "mkl_cbwr") CHECK((support.values.size() > 1) == at::hasMKL());
    if (support.name == "blas") CHECK((support.values.size() > 1) != at::hasMKL());
  }
  const std::string blas = apply_knobs(with_defaults({})).at("blas");
  CHECK((blas == "mkl") == at::hasMKL());
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
    const AutocastScope scope(Precision::bf16, at::kCPU);
    CHECK(at::matmul(a, a).scalar_type() == at::kBFloat16);
  }
  CHECK(at::matmul(a, a).scalar_type() == at::kFloat);
  {
    const AutocastScope scope(Precision::fp32, at::kCPU);
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
