#include "matrix/inquiry/explain/summation_order.hpp"

#include <cmath>
#include <random>

#include "ci/catch.hpp"
#include "matrix/stats/error_budget.hpp"

namespace reprobench {
namespace {

// The fingerprint of one thread on a CPU with AVX-512.
Fingerprint of_host(const std::string& capability = "AVX512") {
  Fingerprint fingerprint;
  fingerprint.cpu_capability = capability;
  fingerprint.blas_provider = "mkl";
  fingerprint.flags = {{"onednn", "on"}};
  return fingerprint;
}

SummationOrder order_with(const std::string& knob, const std::string& value) {
  return summation_order_with(knob, value, of_host(), {});
}

TEST_CASE("how a process adds up follows from what ATen dispatches to and from the variables that cap the others",
          "[calibrate]") {
  const SummationOrder native = summation_order_of(of_host(), {});
  CHECK(to_text(native) == "threads: 1; aten: 16 lanes, fused; onednn: 16 lanes, fused; mkl: 16 lanes, fused");
  CHECK(to_text(summation_order_of(of_host("AVX2"), {})) ==
        "threads: 1; aten: 8 lanes, fused; onednn: 8 lanes, fused; mkl: 8 lanes, fused");
  CHECK(to_text(summation_order_of(of_host("DEFAULT"), {})) ==
        "threads: 1; aten: 4 lanes, unfused; onednn: 4 lanes, unfused; mkl: 4 lanes, unfused");
  // A cap on ATen says nothing of what MKL finds on the host.
  CHECK(to_text(order_with("cpu_isa", "avx2")) ==
        "threads: 1; aten: 8 lanes, fused; onednn: 8 lanes, fused; mkl: 16 lanes, fused");
  CHECK(to_text(order_with("cpu_isa", "default")) ==
        "threads: 1; aten: 4 lanes, unfused; onednn: 4 lanes, unfused; mkl: 16 lanes, fused");
  CHECK(to_text(order_with("mkl_cbwr", "compatible")) ==
        "threads: 1; aten: 16 lanes, fused; onednn: 16 lanes, fused; mkl: 4 lanes, unfused");
  CHECK(order_with("mkl_cbwr", "avx512") == native);
  CHECK(order_with("threads", "2").threads == 2);
  // Without oneDNN its work is done by ATen.
  CHECK(order_with("onednn", "off").onednn.library == "aten");
}

TEST_CASE("a library that is told not to be capped is not", "[calibrate]") {
  Fingerprint fingerprint = of_host();
  fingerprint.environment = {{"MKL_CBWR", "AUTO"}, {"ONEDNN_MAX_CPU_ISA", "ALL"}};
  CHECK(summation_order_of(fingerprint, {}) == summation_order_of(of_host(), {}));
  fingerprint.environment = {{"ONEDNN_MAX_CPU_ISA", "avx512_core_bf16"}, {"MKL_ENABLE_INSTRUCTIONS", "AVX2"}};
  CHECK(to_text(summation_order_of(fingerprint, {})) ==
        "threads: 1; aten: 16 lanes, fused; onednn: 16 lanes, fused; mkl: 8 lanes, fused");
}

TEST_CASE("two processes add up alike only where threads, kernels, BLAS and attention are the same", "[calibrate]") {
  const SummationOrder native = summation_order_of(of_host(), {});
  for (const auto& [knob, value] :
       KnobValues{{"threads", "2"}, {"cpu_isa", "avx2"}, {"mkl_cbwr", "compatible"}, {"onednn", "off"}}) {
    CAPTURE(knob);
    CHECK_FALSE(order_with(knob, value) == native);
  }
  Fingerprint with_openblas = of_host();
  with_openblas.blas_provider = "openblas";
  CHECK_FALSE(summation_order_of(with_openblas, {}) == native);
  // One OpenBLAS with two kinds of kernels is two libraries.
  Fingerprint haswell = with_openblas;
  haswell.environment["OPENBLAS_CORETYPE"] = "Haswell";
  CHECK_FALSE(summation_order_of(with_openblas, {}) == summation_order_of(haswell, {}));
  CHECK_FALSE(summation_order_of(of_host(), {{"attention", "flash"}}) ==
              summation_order_of(of_host(), {{"attention", "math"}}));
  CHECK(summation_order_of(of_host(), {{"allocator", "mapped"}}) == native);
}

TEST_CASE("what two orders do otherwise is said in words", "[calibrate]") {
  const SummationOrder native = summation_order_of(of_host(), {});
  CHECK(difference_between(native, native).empty());
  CHECK(difference_between(native, order_with("threads", "2")) == "1 against 2 threads");
  CHECK(difference_between(native, order_with("mkl_cbwr", "compatible")) ==
        "mkl with 16 against 4 lanes, fused against unfused products");
  CHECK(difference_between(native, order_with("onednn", "off")) == "onednn against aten");
  CHECK(difference_between(summation_order_of(of_host(), {{"attention", "flash"}}),
                           summation_order_of(of_host(), {{"attention", "math"}})) == "attention flash against math");
}

// The limit is derived; this adds up for real. Terms in chains, one after the other, then the chains' sums: every
// rounding by the CPU itself.
struct Sum {
  int chains;
  bool is_fused;
};

double error_rel(const Sum& sum, bool same_sign, int terms) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> draw(same_sign ? 0.5f : -1.0f, 1.0f);
  double squares = 0;
  double sums = 0;
  constexpr int kSums = 200;
  for (int repeat = 0; repeat < kSums; ++repeat) {
    std::vector<float> chains(static_cast<std::size_t>(sum.chains), 0.0f);
    double exact = 0;
    for (int i = 0; i < terms; ++i) {
      const float a = draw(random);
      const float b = draw(random);
      float& chain = chains[static_cast<std::size_t>(i % sum.chains)];
      const volatile float product = a * b;  // rounded before it is added
      chain = sum.is_fused ? std::fma(a, b, chain) : chain + product;
      exact += static_cast<double>(a) * b;
    }
    float total = 0;
    for (const float chain : chains) total += chain;
    squares += (total - exact) * (total - exact);
    sums += exact * exact;
  }
  return std::sqrt(squares / sums);
}

TEST_CASE("what any order of adding up leaves stays within the square root of its terms, and one chain comes near it",
          "[calibrate]") {
  for (const bool same_sign : {true, false}) {
    for (const int terms : {32, 1024, 16384}) {
      for (const bool is_fused : {true, false}) {
        CAPTURE(same_sign, terms, is_fused);
        const double one_chain = error_rel({1, is_fused}, same_sign, terms);
        CHECK(one_chain < order_error_rel(terms));
        CHECK(error_rel({16, is_fused}, same_sign, terms) < order_error_rel(terms));
        // Not a limit that nothing reaches.
        CHECK(one_chain > order_error_rel(terms) / 8);
      }
    }
  }
  // One chain of many terms is further off than sixteen by more than any fixed ratio would allow.
  CHECK(error_rel({1, true}, true, 16384) / error_rel({16, true}, true, 16384) > 2 * kSmallestDefect);
}

}  // namespace
}  // namespace reprobench
