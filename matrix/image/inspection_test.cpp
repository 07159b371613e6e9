// The claims of an image, its loaded versions and its outcome; image_software_test.cpp has what is found in it.
#include "matrix/image/inspection.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/image/inspection_fixture.hpp"
#include "matrix/image/promises.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using namespace test;
namespace fs = std::filesystem;

TEST_CASE("a tag, a variable and a label are claims, each held against what is there", "[image]") {
  Root root;
  root.tags = {"registry:5000/team/pytorch:9.8.6-cuda12.8-cudnn9-runtime"};
  root.config.environment["PYTORCH_VERSION"] = "9.8.7";
  root.config.labels["com.nvidia.cudnn.version"] = "9.10.2.21-1";
  const Inspection inspection = root.inspect();
  REQUIRE(inspection.claims.size() == 5);
  CHECK(inspection.claims[0].component == "torch");
  CHECK(inspection.claims[0].word == ClaimWord::contradicted);
  CHECK_THAT(inspection.claims[0].why, Contains("torch is 9.8.7+cu128, by /lib/python3.12"));
  for (std::size_t i = 1; i < 5; ++i) CHECK(inspection.claims[i].word == ClaimWord::agrees);
}

TEST_CASE("a container that starts on drivers its PyTorch cannot use is said", "[image]") {
  Root root;
  root.config.environment["NVIDIA_REQUIRE_CUDA"] = "cuda>=11.8 brand=tesla,driver>=450";
  CHECK(claim_of(root.inspect(), "driver-cuda").word == ClaimWord::contradicted);
  root.config.environment["NVIDIA_REQUIRE_CUDA"] = "cuda>=12.1 brand=tesla,driver>=525";
  CHECK(claim_of(root.inspect(), "driver-cuda").word == ClaimWord::agrees);
}

TEST_CASE("a variable by which PyTorch computes otherwise is named, since no run inside has it", "[image]") {
  Root root;
  root.config.environment = {
      {"ATEN_CPU_CAPABILITY", "default"},        {"CUDA_VERSION", "12.8"}, {"CUDNN_VERSION", "9.10.2.21"},
      {"DNNL_DEFAULT_FPMATH_MODE", "BF16"},      {"LANG", "C.UTF-8"},      {"LD_PRELOAD", "/opt/lib/libjemalloc.so.2"},
      {"NVIDIA_VISIBLE_DEVICES", "all"},         {"OMP_NUM_THREADS", ""},  {"PATH", "/usr/bin"},
      {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1"}, {"TORCH_HOME", "/opt"}};
  std::vector<std::string> said;
  for (const ImageFinding& finding : root.inspect().findings) {
    if (finding.code == "changing-variable") said.push_back(finding.what.substr(0, finding.what.find(" changes ")));
    CHECK_THAT(finding.what, Contains("a run of `qualify` does not have it"));
  }
  CHECK(said == std::vector<std::string>{"ENV ATEN_CPU_CAPABILITY=default", "ENV DNNL_DEFAULT_FPMATH_MODE=BF16",
                                         "ENV TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1"});
  CHECK(root.inspect().word == InspectionWord::warned);
}

TEST_CASE("what nothing tells is not judged, and the image is undecided for it", "[image]") {
  Root root;
  fs::remove(root.site() / "nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD");
  root.config.environment["NV_CUDNN_VERSION"] = "9.10.2.21";
  // The package's name is there; whether these are its bytes, nobody knows.
  const Inspection inspection = root.inspect();
  CHECK(claim_of(inspection, "cudnn").word == ClaimWord::unread);
  CHECK(claim_of(inspection, "cudnn").found.empty());
  CHECK(inspection.word == InspectionWord::undecided);
}

TEST_CASE("the summary counts what decides, and folders that nobody may read leave it undecided", "[image]") {
  Root root;
  CHECK(root.inspect().summary == "clean: 0 of 0 claims contradicted, 0 failures, 0 warnings, 0 not judged");
  Image image;
  image.name = "x";
  read_root(image, root.root(), {});
  image.unreadable = {"root: Permission denied", "home/a: Permission denied"};
  const Inspection unread = inspect_image(image, {}, facts_of_releases());
  CHECK(codes(unread) == Codes{"unread unreadable ", "unread unreadable "});
  CHECK(unread.summary == "undecided: 0 of 0 claims contradicted, 0 failures, 0 warnings, 2 not judged");
  root.config.environment = {
      {"PYTORCH_VERSION", "1.2.3"}, {"CUDA_VERSION", "12.8"}, {"X_TOKEN", "x"}, {"NCCL_VERSION", "2.1"}};
  root.add_metadata("nvidia-cudnn-cu13", "9.19.0.56");
  CHECK(root.inspect().summary == "refused: 2 of 3 claims contradicted, 1 failures, 1 warnings, 0 not judged");
}

// What a worker inside said of one component.
Fingerprint loaded_one(const std::string& component, const std::string& version) {
  Fingerprint loaded;
  loaded.components = {{component, "", version, "/opt/lib"}};
  return loaded;
}

TEST_CASE("a version that was loaded stands beside the claim and what was found", "[image]") {
  Root root;
  root.tags = {"team/pytorch:9.8.7-cuda12.8-cudnn9.10"};
  Inspection inspection = root.inspect();
  CHECK(claim_of(inspection, "cudnn").loaded.empty());
  add_loaded(loaded_one("cudnn", "9.10.2"), inspection);  // cuDNN tells three of its package's four numbers
  CHECK(claim_of(inspection, "cudnn").loaded == "9.10.2");
  CHECK(claim_of(inspection, "torch").loaded.empty());
  CHECK(inspection.word == InspectionWord::clean);
  CHECK(inspection.findings.empty());
  add_loaded(loaded_one("torch", "9.8.7+cu128"), inspection);
  CHECK(inspection.findings.empty());
  const auto document = written(inspection);
  for (const auto& claim : document.at("claims")) {
    CHECK(claim.contains("loaded") == (claim.at("component") != "cuda"));
  }
}

TEST_CASE("another version than the found one was loaded: what was inspected did not compute", "[image]") {
  const auto [component, version, what] = GENERATE(table<const char*, const char*, const char*>(
      {{"cudnn", "8.7.0", "a worker inside had loaded 8.7.0"},
       {"cudnn", "9.10.20", "a worker inside had loaded 9.10.20"},
       {"torch", "9.8.7+cpu", "a worker inside had loaded 9.8.7+cpu"},
       {"torch", "9.8", ""},
       {"mkl", "2024.2", ""}}));  // nothing in the image told of it, so nothing is contradicted
  CAPTURE(component, version);
  Inspection inspection = Root().inspect();
  const std::size_t before = inspection.components.size();
  add_loaded(loaded_one(component, version), inspection);
  const bool is_refused = *what != '\0';
  CHECK(inspection.word == (is_refused ? InspectionWord::refused : InspectionWord::clean));
  CHECK(codes(inspection) == (is_refused ? Codes{"fail loaded-otherwise "} : Codes{}));
  CHECK(inspection.components.size() == before + (component == std::string("mkl") ? 1 : 0));
  if (!is_refused) return;
  CHECK_THAT(inspection.findings.front().what, Contains(what));
  CHECK_THAT(inspection.summary, Contains("1 failures"));
}

TEST_CASE("JUnit has a case for every claim and finding, and one for the image", "[image]") {
  Root root;
  root.config.environment = {{"PYTORCH_VERSION", "1.2.3"}, {"CUDA_VERSION", "12.8"}};
  root.add_metadata("nvidia-cudnn-cu13", "9.19.0.56");
  const std::string junit = to_junit(root.inspect());
  CHECK_THAT(junit, Contains("tests=\"4\"") && Contains("failures=\"3\"") && Contains("errors=\"0\""));
  CHECK_THAT(junit, Contains("classname=\"claims\" name=\"torch 1.2.3 (ENV PYTORCH_VERSION)\""));
  CHECK_THAT(to_junit(Root().inspect()), Contains("tests=\"1\"") && Contains("failures=\"0\""));
}

TEST_CASE("both published descriptions are read, and each contradiction is named", "[image]") {
  const Root root;
  const Inspection v29 = root.inspect({load_claims(REPROBENCH_SOURCE_ROOT "/docker/claims/pytorch-cuda-v2.9.yaml")});
  CHECK(v29.claims.size() == 12);
  CHECK(claim_of(v29, "python").word == ClaimWord::agrees);
  CHECK(claim_of(v29, "cuda").claimed == "11.8 or 12.1");
  CHECK(claim_of(v29, "cuda").word == ClaimWord::contradicted);
  CHECK(claim_of(v29, "driver").word == ClaimWord::agrees);
  CHECK(claim_of(v29, "driver").found == "525.60.13");
  CHECK(claim_of(v29, "ssh").word == ClaimWord::contradicted);
  const Inspection v210 = root.inspect({load_claims(REPROBENCH_SOURCE_ROOT "/docker/claims/pytorch-2.1.0.yaml")});
  CHECK(v210.claims.size() == 8);
  CHECK(claim_of(v210, "driver").word == ClaimWord::contradicted);
  CHECK_THAT(claim_of(v210, "driver").why, Contains("needs a driver of 525.60.13 or later"));
}

std::vector<std::string> never_released(const Inspection& inspection) {
  std::vector<std::string> said;
  for (const ImageFinding& finding : inspection.findings) {
    if (finding.code == "never-released") said.push_back(finding.what);
  }
  return said;
}

TEST_CASE("a promise that no release ever kept is false of every image", "[image]") {
  Root root;
  const auto v29 =
      never_released(root.inspect({load_claims(REPROBENCH_SOURCE_ROOT "/docker/claims/pytorch-cuda-v2.9.yaml")}));
  REQUIRE(v29.size() >= 2);
  CHECK_THAT(v29[0], Contains("claims pytorch-cuda-v2.9: ") && Contains("CUDA 11.8"));
  const auto v210 =
      never_released(root.inspect({load_claims(REPROBENCH_SOURCE_ROOT "/docker/claims/pytorch-2.1.0.yaml")}));
  REQUIRE_FALSE(v210.empty());
  CHECK_THAT(v210[0], Contains("claims pytorch-2.1.0: "));
  root.tags = {"team/pytorch:2.9.0-cuda11.8-cudnn9"};
  CHECK(never_released(root.inspect()).size() == 1);
  root.tags = {"team/pytorch:2.9.0-cuda12.8-cudnn9"};
  CHECK(never_released(root.inspect()).empty());
}

TEST_CASE("without facts nothing is contradicted", "[image]") {
  const std::vector<ImageClaim> claims = {{"torch", {"2.9"}, "x"}, {"cuda", {"11.8"}, "x"}};
  CHECK(find_never_released("x", claims, {}).empty());
}

TEST_CASE("one choice that was released is enough, and what nobody knows is no contradiction", "[image]") {
  const auto said = [](const std::string& claims) {
    return never_released(Root().inspect({parse_claims("schema: 1\nname: x\nclaims:\n" + claims, "x.yaml")})).size();
  };
  CHECK(said("  torch: \"2.9\"\n  cuda: [\"11.8\", \"12.8\"]\n") == 0);
  CHECK(said("  torch: \"2.9\"\n  cuda: [\"11.8\", \"12.1\"]\n") == 2);
  CHECK(said("  torch: any\n  cuda: \"11.8\"\n  transformers: \"4.30.0\"\n") == 0);
}

TEST_CASE("what is known to be wrong with the versions in an image is a warning", "[image]") {
  const Root root;  // cuDNN 9.10.2
  ImageSoftware software;
  software.components["cudnn"] = {"9.10.2.21", "x"};
  software.components["torch"] = {"2.9.0+cu128", "x"};
  const auto said = find_known_defects(software, facts());
  REQUIRE_FALSE(said.empty());
  CHECK(std::all_of(said.begin(), said.end(), [](const ImageFinding& finding) {
    return finding.severity == FindingSeverity::warn && finding.code == "known-defect";
  }));
  CHECK(std::any_of(said.begin(), said.end(),
                    [](const ImageFinding& finding) { return finding.what.find("conv3d") != std::string::npos; }));
  CHECK(find_known_defects({}, facts()).empty());
}

}  // namespace
}  // namespace reprobench
