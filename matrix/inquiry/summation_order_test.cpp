#include "matrix/inquiry/summation_order.hpp"

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
  return summation_order_of(with_knob(of_host(), knob, value));
}

double ratio_with(const std::string& knob, const std::string& value) {
  return largest_ratio_between(summation_order_of(of_host()), order_with(knob, value));
}

TEST_CASE("how a process adds up follows from what ATen dispatches to and from the variables that cap the others",
          "[calibrate]") {
  const SummationOrder native = summation_order_of(of_host());
  CHECK(to_text(native) == "threads: 1; aten: 16 lanes, fused; onednn: 16 lanes, fused; mkl: 16 lanes, fused");
  CHECK(to_text(summation_order_of(of_host("AVX2"))) ==
        "threads: 1; aten: 8 lanes, fused; onednn: 8 lanes, fused; mkl: 8 lanes, fused");
  CHECK(to_text(summation_order_of(of_host("DEFAULT"))) ==
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
  CHECK(summation_order_of(fingerprint) == summation_order_of(of_host()));
  fingerprint.environment = {{"ONEDNN_MAX_CPU_ISA", "avx512_core_bf16"}, {"MKL_ENABLE_INSTRUCTIONS", "AVX2"}};
  CHECK(to_text(summation_order_of(fingerprint)) ==
        "threads: 1; aten: 16 lanes, fused; onednn: 16 lanes, fused; mkl: 8 lanes, fused");
}

TEST_CASE("two orders explain a ratio by their chains, by fused products and by another library", "[calibrate]") {
  CHECK(ratio_with("threads", "1") == 1);
  CHECK(ratio_with("threads", "2") == 2);
  CHECK(ratio_with("threads", "4") == 4);
  CHECK(ratio_with("cpu_isa", "avx2") == 2);
  CHECK(ratio_with("cpu_isa", "default") == Approx(4 * std::sqrt(2)));
  CHECK(ratio_with("mkl_cbwr", "compatible") == Approx(4 * std::sqrt(2)));
  CHECK(ratio_with("onednn", "off") == kLegitimateRatioOfLibraries);
  // The same from the other side, and threads multiply with the rest.
  const SummationOrder native = summation_order_of(of_host());
  SummationOrder both = order_with("cpu_isa", "avx2");
  both.threads = 2;
  CHECK(largest_ratio_between(native, both) == 4);
  CHECK(largest_ratio_between(both, native) == 4);
  Fingerprint with_openblas = of_host();
  with_openblas.blas_provider = "openblas";
  CHECK(largest_ratio_between(native, summation_order_of(with_openblas)) == kLegitimateRatioOfLibraries);
  // One OpenBLAS with two kinds of kernels is two libraries.
  Fingerprint haswell = with_openblas;
  haswell.environment["OPENBLAS_CORETYPE"] = "Haswell";
  CHECK(largest_ratio_between(summation_order_of(with_openblas), summation_order_of(haswell)) ==
        kLegitimateRatioOfLibraries);
}

TEST_CASE("what two orders do otherwise is said in words", "[calibrate]") {
  const SummationOrder native = summation_order_of(of_host());
  CHECK(difference_between(native, native).empty());
  CHECK(difference_between(native, order_with("threads", "2")) == "1 against 2 threads");
  CHECK(difference_between(native, order_with("mkl_cbwr", "compatible")) ==
        "mkl with 16 against 4 lanes, fused against unfused products");
  CHECK(difference_between(native, order_with("onednn", "off")) == "onednn against aten");
}

// The limits are derived; this adds up for real. Terms in chains, one after the other, then the chains' sums: every
// rounding by the CPU itself.
struct Sum {
  int chains;
  bool is_fused;
};

double error_rms(const Sum& sum, bool same_sign, int terms) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> draw(same_sign ? 0.5f : -1.0f, 1.0f);
  double squares = 0;
  constexpr int kSums = 400;
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
  }
  return std::sqrt(squares / kSums);
}

TEST_CASE("sums in fewer chains, and of rounded products, stay within the limits, and come near that of the chains",
          "[calibrate]") {
  for (const bool same_sign : {true, false}) {
    for (const int terms : {32, 1024}) {
      CAPTURE(same_sign, terms);
      const double one = error_rms({1, true}, same_sign, terms);
      CHECK(one / error_rms({2, true}, same_sign, terms) < 2);
      CHECK(one / error_rms({4, true}, same_sign, terms) < 4);
      const double unfused = error_rms({1, false}, same_sign, terms);
      CHECK(unfused / one < std::sqrt(2.0));
      CHECK(unfused / error_rms({4, true}, same_sign, terms) < 4 * std::sqrt(2.0));
    }
  }
  // Not by a limit that nothing reaches: alike terms in one chain against two and four.
  CHECK(error_rms({1, true}, true, 4096) / error_rms({2, true}, true, 4096) > 1.3);
  CHECK(error_rms({1, true}, true, 4096) / error_rms({4, true}, true, 4096) > 1.8);
}

}  // namespace
}  // namespace reprobench
