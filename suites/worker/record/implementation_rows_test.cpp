// How the libraries' own lines tell the implementation of an operation, and how rows become a result.
#include "suites/worker/record/implementation_rows.hpp"

#include <algorithm>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

const std::string kNoSwitch = "this LibTorch has no switch that makes MKL tell of its calls";

SeenOperation seen(const std::string& operation, const std::string& lines) {
  return {operation, "(64,64), (64,64)", "float32", read_library_text(lines)};
}

// What is known of it, or why nothing is.
std::string known(const SeenOperation& operation, const std::string& unheard = "") {
  const OperationImplementation row = implementation_of(operation, "AVX512", unheard);
  CHECK(row.implementation.empty() != row.unknown.empty());
  return row.unknown.empty() ? row.implementation : "not known: " + row.unknown;
}

const std::string kProductOfMkl = "MKL_VERBOSE SGEMM(N,N,64,64,64) 59.54us CNR:OFF Dyn:1\n";
const std::string kNoteOfMkl =
    "MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 architecture Intel(R) Advanced Vector "
    "Extensions 2 (Intel(R) AVX2) enabled processors, Lnx 2.60GHz lp64 gnu_thread\n";

TEST_CASE("an operation is computed by what the libraries said while it ran, of every version", "[worker]") {
  CHECK(known(seen("aten::mkldnn_convolution",
                   "dnnl_verbose,exec,cpu,convolution,jit:avx512_core,forward_training,src_f32::blocked:abcd:f0,,,0.1\n"
                   "dnnl_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0,,,0.1\n")) ==
        "onednn convolution jit:avx512_core + onednn reorder jit:uni");
  CHECK(
      known(seen("aten::addmm",
                 "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_bf16,undef,src:bf16,,,0.03\n")) ==
      "onednn matmul brg_matmul:avx512_core_bf16");
  CHECK(known(seen("aten::addmm", kProductOfMkl)) == "mkl SGEMM");
  CHECK(known(seen("aten::addmm", kNoteOfMkl + kProductOfMkl)) == "mkl SGEMM for AVX2");
  CHECK(known(seen("aten::mm", "MKL_VERBOSE SGEMM(N,N,8,8,8) 9us CNR:AVX2 Dyn:1\n")) == "mkl SGEMM CNR:AVX2");
  CHECK(known(seen("aten::relu", "")) == "aten AVX512");
  CHECK(known(seen("aten::_nnpack_spatial_convolution", "")) == "nnpack");
}

TEST_CASE("the order in which threads of an operation wrote their lines makes no other implementation", "[worker]") {
  const std::string other = "MKL_VERBOSE SGEMV(t,64,64) 22.10us CNR:OFF Dyn:1\n";
  CHECK(known(seen("aten::sdpa", kProductOfMkl + other)) == known(seen("aten::sdpa", other + kProductOfMkl)));
  CHECK(known(seen("aten::sdpa", other + kProductOfMkl)) == "mkl SGEMM + mkl SGEMV");
}

// Negative control: silence is LibTorch's own kernel only where a library would have spoken.
TEST_CASE("what a library may have done silently is not called LibTorch's own", "[worker]") {
  for (const char* product : {"aten::addmm", "aten::bmm", "aten::mv", "aten::dot", "aten::_slow_conv2d_forward",
                              "aten::_scaled_dot_product_flash_attention_for_cpu", "aten::mkldnn_linear"}) {
    CAPTURE(product);
    CHECK(known(seen(product, ""), kNoSwitch) == "not known: " + kNoSwitch);
    CHECK(known(seen(product, "")) == "aten AVX512");
    CHECK(known(seen(product, kProductOfMkl), kNoSwitch) == "mkl SGEMM");
  }
  for (const char* function : {"aten::tanh", "aten::exp_", "aten::sqrt"}) {
    CAPTURE(function);
    CHECK(known(seen(function, "")) == "not known: MKL's vector functions, which may do it, tell nothing");
  }
  CHECK(known(seen("aten::tanh_backward", "")) == "aten AVX512");
  CHECK(known(seen("aten::relu", ""), kNoSwitch) == "aten AVX512");
  CHECK(known(seen("aten::_nnpack_spatial_convolution", ""), "") == "nnpack");
}

TEST_CASE("a line that is not understood leaves the whole operation unknown, with what was beside it", "[worker]") {
  const std::string odd = "onednn_verbose,v1,ukernel,exec,cpu,brgemm,undef,x\n";
  CHECK(known(seen("aten::mm", odd)) == "not known: 1 lines of the libraries are not understood");
  CHECK(known(seen("aten::mm", odd + odd + kProductOfMkl)) ==
        "not known: 2 lines of the libraries are not understood; beside them mkl SGEMM");
}

TEST_CASE("texts of any length fit a row", "[worker]") {
  SeenOperation operation = seen("aten::cat", "");
  operation.operands = std::string(10'000, 'x');
  const OperationImplementation row = implementation_of(operation, "AVX512", "");
  CHECK(row.operands.size() == kLongestImplementationText);
  CHECK(row.operands.ends_with("x..."));
  operation.operands = std::string(kLongestImplementationText, 'x');
  CHECK(implementation_of(operation, "AVX512", "").operands == operation.operands);
}

OperationImplementation row(const std::string& operation, const std::string& implementation) {
  return {operation, "(2)", "float32", implementation};
}

TEST_CASE("equal rows are counted, others stand beside them, and their order is theirs alone", "[worker]") {
  ImplementationRows rows;
  ImplementationRows turned;
  const std::vector<OperationImplementation> added = {row("aten::mm", "mkl SGEMM"), row("aten::add", "aten AVX2"),
                                                      row("aten::mm", "aten AVX2"), row("aten::mm", "mkl SGEMM")};
  for (const OperationImplementation& one : added) rows.add(one);
  for (auto one = added.rbegin(); one != added.rend(); ++one) turned.add(*one);
  const StepImplementations step = rows.take();
  REQUIRE(step.operations.size() == 3);
  CHECK(step.operations[0].operation == "aten::add");
  CHECK(step.operations[1].implementation == "aten AVX2");
  CHECK(step.operations[2].implementation == "mkl SGEMM");
  CHECK(step.operations[2].calls == 2);
  CHECK(step.operations[1].calls == 1);
  CHECK(step.left_out == 0);
  CHECK(step.unknown.empty());
  CHECK((turned.take().operations == step.operations));
}

TEST_CASE("where there are too many rows LibTorch's own kernels are left out first, and counted", "[worker]") {
  ImplementationRows rows;
  for (std::size_t i = 0; i < kMostImplementations; ++i) rows.add(row("aten::a" + std::to_string(i), "aten AVX2"));
  CHECK(rows.take().left_out == 0);
  rows.add(row("aten::mm", "mkl SGEMM"));
  OperationImplementation unknown = row("aten::z", "");
  unknown.unknown = "nobody knows";
  rows.add(unknown);
  const StepImplementations step = rows.take();
  CHECK(step.operations.size() == kMostImplementations);
  CHECK(step.left_out == 2);
  CHECK((step.operations.back() == unknown));
  CHECK(std::ranges::count(step.operations, "mkl SGEMM", &OperationImplementation::implementation) == 1);
}

TEST_CASE("a step in which nothing was seen says so", "[worker]") {
  CHECK(ImplementationRows().take().unknown == "no operation was seen");
}

}  // namespace
}  // namespace reprobench
