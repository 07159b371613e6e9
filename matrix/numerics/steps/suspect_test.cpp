#include "matrix/numerics/steps/suspect.hpp"

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

TEST_CASE("what no library does is done by torch's own loops", "[suspect]") {
  const char* const own = GENERATE("aten::_softmax", "aten::native_layer_norm_backward", "aten::sum", "aten::mul_");
  CHECK(is_of_torch_alone(own));
  const char* const called = GENERATE("aten::addmm", "aten::mkldnn_linear", "aten::convolution_backward", "aten::dot",
                                      "aten::_scaled_dot_product_flash_attention_for_cpu_backward");
  CHECK_FALSE(is_of_torch_alone(called));
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

TEST_CASE("every difference is listed with both sides: faults, knobs, what was loaded, what knobs came to",
          "[suspect]") {
  CellRequest measured = request();
  CellRequest expected = request();
  measured.inject = Injection{"weight_ulp", 3, "fc1.weight", 0};
  measured.knobs = {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"same", "on"}, {"threads", "1"}, {"tf32", "1"}};
  expected.knobs = {{"b", "4"}, {"c", "3"}, {"d", "5"}, {"same", "on"}, {"threads", "1"}, {"tf32", "0"}};
  CellResult ours = result("2.9.0", "mkl");
  CellResult theirs = result("2.8.0", "mkl");
  ours.knobs_resolved = {{"b", "2"}, {"c", "30"}, {"only", "x"}, {"same", "on"}, {"threads", "1"}, {"tf32", "1"}};
  theirs.knobs_resolved = {{"b", "4"}, {"c", "31"}, {"other", "x"}, {"same", "on"}, {"threads", "2"}, {"tf32", "0"}};
  std::vector<std::string> listed;
  for (const SideDifference& difference : side_differences(measured, ours, expected, theirs)) {
    listed.push_back(difference.what + ": " + difference.measured + "|" + difference.expected);
  }
  CHECK(listed == std::vector<std::string>{"planted fault: weight_ulp from step 3|", "knob a: 1|", "knob b: 2|4",
                                           "knob d: |5", "knob tf32: 1|0", "torch: 2.9.0|2.8.0", "resolved c: 30|31",
                                           "resolved threads: 1|2"});
}

TEST_CASE("a suspect is named with both sides and the reason", "[suspect]") {
  const auto suspected = [](const std::string& name, std::vector<SideDifference> differences) {
    const Suspect suspect = suspect_of(name, differences);
    return suspect.component + " | " + suspect.sentence;
  };
  const SideDifference torch{"torch", "2.9.0", "2.8.0"};
  const SideDifference blas{"blas provider", "mkl", "openblas"};
  const SideDifference onednn{"onednn", "3.5", "3.4"};
  const SideDifference knob{"knob tf32", "1", "0"};
  const SideDifference fault{"planted fault", "weight_ulp from step 3", ""};
  CHECK(suspected("aten::mm", {}) ==
        " | both sides loaded and set the same: the difference comes from run to run, not from the stack");
  CHECK(suspected("aten::mm", {torch, knob, fault}) ==
        "planted fault | planted fault: " + sides_text(fault) + "; it was put there");
  CHECK(suspected("aten::mm", {torch, blas, knob}) ==
        "knob tf32 | knob tf32: " + sides_text(knob) + "; a setting of the run differs");
  CHECK(suspected("aten::gelu", {blas}) ==
        "blas provider | blas provider: " + sides_text(blas) + "; nothing else differs");
  CHECK(suspected("aten::mm", {torch, onednn, blas}) ==
        "blas provider | blas provider: " + sides_text(blas) + "; it does the work of aten::mm");
  CHECK(suspected("aten::mm", {torch, onednn}) ==
        "onednn | onednn: " + sides_text(onednn) + "; it does the work of aten::mm");
  CHECK(suspected("aten::gelu", {blas, torch}) ==
        "torch | torch: " + sides_text(torch) + "; aten::gelu is a kernel of torch itself");
  CHECK(suspected("", {blas, torch}) == "torch | torch: " + sides_text(torch) + "; no operator could be named");
  // Torch is the same, and nothing that differs does this operator's work.
  CHECK(suspected("aten::gelu", {onednn, blas}) ==
        "onednn | onednn: " + sides_text(onednn) + "; aten::gelu is a kernel of torch itself");
  CHECK(suspected("aten::dot", {onednn, torch}) ==
        "torch | torch: " + sides_text(torch) + "; aten::dot is a kernel of torch itself");
}

TEST_CASE("each word of an operator's name leads to its library", "[suspect]") {
  std::vector<SideDifference> differences;
  for (const char* what : {"torch", "onednn", "blas", "cublas", "blas provider", "cudnn"}) {
    differences.push_back({what, "1", "2"});
  }
  const std::pair<const char*, std::vector<const char*>> rows[] = {
      {"cudnn", {"aten::cudnn_batch_norm", "cudnn"}},
      {"onednn", {"aten::mkldnn_linear", "aten::mkldnn_convolution"}},
      {"torch", {"aten::_fused_attention", "aten::mmm", "mm::relu", "Relu", "a::b::relu"}},
      {"cudnn", {"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::_convolution"}},
      {"cublas",
       {"aten::addmm", "aten::baddbmm", "aten::bmm", "aten::mm", "aten::matmul", "aten::linear", "aten::addmv",
        "aten::mv", "aten::dot", "aten::vdot", "Mm", "MmBackward0", "a::b::mm", "mm", "aten::relu_Mm"}},
  };
  for (const auto& [component, names] : rows) {
    for (const char* name : names) {
      CAPTURE(name);
      CHECK(suspect_of(name, differences).component == component);
    }
  }
  differences.erase(differences.begin() + 3);  // without cublas
  CHECK(suspect_of("aten::mm", differences).component == "blas");
  CHECK(suspect_of("aten::dot", differences).component == "blas");
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
