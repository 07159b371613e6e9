#include "matrix/verdict/atlas/call_library.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

CallLibrary library_with(std::vector<std::string> seen) {
  ProbeMeasurement measurement;
  measurement.kernels = std::move(seen);
  return library_of(measurement);
}

TEST_CASE("the libraries that were heard computed a call, each named once", "[verdict]") {
  CHECK(library_with({"aten::addmm", "mkl SGEMM for AVX2", "mkl SGEMM"}).name == "MKL");
  CHECK(library_with({"aten::mm", "onednn matmul brg", "mkl SGEMM"}).name == "oneDNN + MKL");
  CHECK(library_with({"aten::mkldnn_convolution"}).name == "oneDNN");
  CHECK(library_with({"aten::_nnpack_spatial_convolution"}).name == "NNPACK");
  CHECK(library_with({"aten::mm", "mkl SGEMM"}).unknown.empty());
}

TEST_CASE("an operator that LibTorch hands to no library is its own work", "[verdict]") {
  CHECK(library_with({"aten::native_layer_norm", "aten::native_layer_norm_backward",
                      "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "SumBackward0"})
            .name == "LibTorch's own kernels");
}

TEST_CASE("a product of which no library was heard is not taken for LibTorch's own", "[verdict]") {
  const CallLibrary library = library_with({"aten::sum", "aten::mm"});
  CHECK(library.name.empty());
  CHECK(library.unknown == "of aten::mm no library was heard");
}

TEST_CASE("what nothing recognises, and nothing at all, is not known", "[verdict]") {
  CHECK(library_with({"SumBackward0"}).unknown == "nothing was seen of what ran");
  CHECK(library_with({"other SumBackward0"}).name.empty());
  CHECK(library_with({}).unknown == "nothing was seen of what ran");
  CHECK(library_with({"other gemm"}).name.empty());
  CHECK(library_with({"mkl SGEMM", "other gemm"}).unknown == "`other gemm` ran, which nothing here recognises");
}

}  // namespace
}  // namespace reprobench
