#include "matrix/verdict/suspect.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

CellResult result(const std::string& torch, const std::string& blas) {
  CellResult one;
  one.fingerprint.components = {{"torch", torch, torch, torch}};
  one.fingerprint.blas_provider = blas;
  one.knobs_resolved = {{"threads", "1"}};
  return one;
}

CellRequest request() {
  CellRequest one;
  one.knobs = {{"threads", "1"}};
  return one;
}

TEST_CASE("two sides that loaded and set the same have nothing to suspect", "[suspect]") {
  const auto differences = side_differences(request(), result("2.9.0", "mkl"), request(), result("2.9.0", "mkl"));
  CHECK(differences.empty());
  CHECK(suspect_of("aten::mm", differences).component.empty());
}

TEST_CASE("a planted fault comes before a setting, and that before everything a stack brings", "[suspect]") {
  CellRequest changed = request();
  changed.knobs["threads"] = "2";
  auto differences = side_differences(changed, result("2.9.0", "mkl"), request(), result("2.8.0", "openblas"));
  CHECK(differences.size() == 3);
  CHECK(suspect_of("aten::mm", differences).component == "knob threads");
  changed.inject = Injection{"weight_ulp", 3, "fc1.weight", 0};
  differences = side_differences(changed, result("2.9.0", "mkl"), request(), result("2.8.0", "openblas"));
  CHECK(suspect_of("aten::mm", differences).component == "planted fault");
}

TEST_CASE("a product points at the BLAS library, any other operator at torch", "[suspect]") {
  const auto differences = side_differences(request(), result("2.9.0", "mkl"), request(), result("2.8.0", "openblas"));
  CHECK(suspect_of("aten::addmm", differences).component == "blas provider");
  CHECK(suspect_of("aten::native_layer_norm", differences).component == "torch");
  CHECK(suspect_of("", differences).component == "torch");
}

TEST_CASE("an operator's library follows from the words of its name, not from parts of words", "[suspect]") {
  CellResult measured = result("2.9.0", "mkl");
  measured.fingerprint.components.push_back({"cudnn", "9.1", "9.1", ""});
  measured.fingerprint.components.push_back({"onednn", "3.5", "3.5", ""});
  const auto differences = side_differences(request(), measured, request(), result("2.8.0", "openblas"));
  const auto suspect = [&](const char* name) { return suspect_of(name, differences).component; };
  for (const char* name : {"aten::dot", "aten::addmm", "aten::_scaled_mm.out", "AddmmBackward0", "aten::mv"}) {
    CAPTURE(name);
    CHECK(suspect(name) == "blas provider");
  }
  for (const char* name : {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention_for_cpu",
                           "aten::upsample_bilinear2d", "aten::comm", "aten::convert_dtype", "aten::gelu"}) {
    CAPTURE(name);
    CHECK(suspect(name) == "torch");
  }
  CHECK(suspect("aten::conv2d") == "cudnn");
  CHECK(suspect("ConvolutionBackward0") == "cudnn");
  CHECK(suspect("aten::_scaled_dot_product_cudnn_attention") == "cudnn");
  CHECK(suspect("aten::mkldnn_convolution") == "onednn");
  CHECK(suspect("aten::mkldnn_linear") == "onednn");
}

TEST_CASE("the only difference is the suspect, whatever the operator", "[suspect]") {
  const auto differences = side_differences(request(), result("2.9.0", "mkl"), request(), result("2.9.0", "openblas"));
  CHECK(suspect_of("aten::gelu", differences).component == "blas provider");
}

TEST_CASE("a knob asked for alike that came to otherwise is named as resolved", "[suspect]") {
  CellResult other = result("2.9.0", "mkl");
  other.knobs_resolved["threads"] = "2";
  const auto differences = side_differences(request(), other, request(), result("2.9.0", "mkl"));
  REQUIRE(differences.size() == 1);
  CHECK(differences.front().what == "resolved threads");
}

}  // namespace
}  // namespace reprobench
