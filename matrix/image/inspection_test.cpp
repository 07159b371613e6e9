// What is said of images that were put together wrongly, as users have met them.
#include "matrix/image/inspection.hpp"

#include <algorithm>

#include "ci/catch.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/image/image_fixture.hpp"
#include "matrix/image/image_root.hpp"
#include "matrix/image/promises.hpp"
#include "matrix/provision/environment_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using namespace test;
namespace fs = std::filesystem;

const CompatFacts& facts() {
  static const CompatFacts kFacts = load_compat_facts(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  return kFacts;
}

// Without known defects, which cuDNN 9.10.2 has.
const CompatFacts& facts_of_releases() {
  static const CompatFacts kWithout = [] {
    CompatFacts without = facts();
    without.known_defects.clear();
    return without;
  }();
  return kWithout;
}

// A root with PyTorch 9.8.7+cu128 and its cuDNN 9.10.2.21, as pip would have installed them.
struct Root : FakeEnvironment {
  ImageConfig config{};
  std::vector<std::string> tags{};

  Root() {
    record("nvidia_cudnn_cu12-9.10.2.21", {"nvidia/cudnn/lib/libcudnn.so.9", "nvidia/cudnn/lib/libcudnn_ops.so.9"});
    write_file(root() / "etc/passwd", "root:x:0:0::/root:/bin/sh\n");
    write_file(root() / "etc/shadow", "root:*:19000:0:99999:7:::\n");
  }

  void record(const std::string& package, const std::vector<std::string>& files) const {
    std::string text;
    for (const std::string& file : files) {
      Sha256 sha;
      sha.update(read_file(site() / file));
      text += file + ",sha256=" + to_base64url(sha.finish()) + ",1\n";
    }
    write_file(site() / (package + ".dist-info/RECORD"), text);
  }

  Inspection inspect(const std::vector<ClaimsFile>& claims = {}) const {
    Image image;
    image.name = root().string();
    read_root(image, root(), {});
    image.config = config;
    image.tags = tags;
    return inspect_image(image, claims, facts_of_releases());
  }
};

// "fail second-copy /path", one a finding.
std::vector<std::string> codes(const Inspection& inspection) {
  std::vector<std::string> said;
  for (const ImageFinding& finding : inspection.findings) {
    said.push_back(std::string(to_string(finding.severity)) + " " + finding.code + " " + finding.path);
  }
  return said;
}

using Codes = std::vector<std::string>;

const JudgedClaim& claim_of(const Inspection& inspection, const std::string& component) {
  for (const JudgedClaim& claim : inspection.claims) {
    if (claim.component == component) return claim;
  }
  FAIL("no claim of " + component);
  throw std::logic_error("unreachable");
}

std::string version_of(const Inspection& inspection, const std::string& component) {
  for (const ComponentRow& row : inspection.components) {
    if (row.component == component) return row.version;
  }
  return "";
}

constexpr const char* kSite = "/lib/python3.12/site-packages/";

TEST_CASE("a root as pip leaves it has no findings, and its versions are read", "[image]") {
  const Root root;
  const Inspection inspection = root.inspect();
  CHECK(codes(inspection) == Codes{});
  CHECK(inspection.word == InspectionWord::clean);
  CHECK(version_of(inspection, "torch") == "9.8.7+cu128");
  CHECK(version_of(inspection, "cuda") == "12.8");
  CHECK(version_of(inspection, "cudnn") == "9.10.2.21");
  CHECK(version_of(inspection, "python") == "3.12");
  CHECK(version_of(inspection, "nccl").empty());
  CHECK(written(inspection).at("word") == "clean");
  REQUIRE(inspection.libraries.size() >= 5);
  const auto cudnn = std::find_if(inspection.libraries.begin(), inspection.libraries.end(),
                                  [](const ImageLibrary& library) { return library.name == "libcudnn.so.9"; });
  REQUIRE(cudnn != inspection.libraries.end());
  CHECK(cudnn->is_taken);
  CHECK(cudnn->record == RecordState::intact);
  CHECK(cudnn->evidence == "nvidia-cudnn-cu12 9.10.2.21, as recorded");
  root.add_metadata("Torch_Vision.X", "0.24.0");
  CHECK(version_of(root.inspect(), "torch-vision-x") == "0.24.0");
}

TEST_CASE("a library that was replaced after it was installed has no version any more", "[image]") {
  const Root root;
  link_library(root.nvidia() / "cudnn/lib/libcudnn.so.9", {"libcudnn.so.9", {}, "$ORIGIN", true, "0x00ff"});
  const Inspection inspection = root.inspect();
  CHECK(codes(inspection) == Codes{std::string("fail changed-library ") + kSite + "nvidia/cudnn/lib/libcudnn.so.9"});
  CHECK(inspection.word == InspectionWord::refused);
  CHECK(version_of(inspection, "cudnn").empty());
}

TEST_CASE("another cuDNN in the environment fails, one of the system beside it is a warning", "[image]") {
  const LinkedLibrary other{"libcudnn.so.9", {}, "", false, "0x00aa"};
  const Root planted;
  link_library(planted.torch() / "lib/old/libcudnn.so.9", other);
  CHECK(codes(planted.inspect()) == Codes{std::string("fail second-copy ") + kSite + "torch/lib/old/libcudnn.so.9"});
  const Root of_base;
  link_library(of_base.root() / "usr/lib/x86_64-linux-gnu/libcudnn.so.9", other);
  CHECK(codes(of_base.inspect()) == Codes{"warn second-copy /usr/lib/x86_64-linux-gnu/libcudnn.so.9"});
  CHECK(of_base.inspect().word == InspectionWord::warned);
  const Root same;  // equal bytes are no other copy
  fs::create_directories(same.root() / "usr/lib");
  fs::copy_file(same.nvidia() / "cudnn/lib/libcudnn.so.9", same.root() / "usr/lib/libcudnn.so.9");
  CHECK(codes(same.inspect()) == Codes{});
}

TEST_CASE("two cuDNN of an image whose PyTorch takes none are named", "[image]") {
  const LinkedLibrary own{"libcudnn_adv.so.9", {}, "", false, "0x00aa"};
  const LinkedLibrary other{"libcudnn_adv.so.9", {}, "", false, "0x00bb"};
  const Root planted;  // no library needs this name
  link_library(planted.root() / "opt/a/libcudnn_adv.so.9", own);
  CHECK(codes(planted.inspect()) == Codes{});
  link_library(planted.root() / "opt/b/libcudnn_adv.so.9", own);
  CHECK(codes(planted.inspect()) == Codes{});
  link_library(planted.root() / "opt/c/libcudnn_adv.so.9", other);
  const Inspection inspection = planted.inspect();
  CHECK(codes(inspection) == Codes{"warn second-copy /opt/c/libcudnn_adv.so.9"});
  CHECK(inspection.word == InspectionWord::warned);
}

TEST_CASE("LD_LIBRARY_PATH is followed as the loader does", "[image]") {
  Root root;
  link_library(root.root() / "opt/other/libcudnn.so.9", {"libcudnn.so.9", {}, "", false, "0x00aa"});
  root.config.environment["LD_LIBRARY_PATH"] = "/opt/other";
  // The PyTorch has a DT_RPATH, which comes first.
  CHECK(version_of(root.inspect(), "cudnn") == "9.10.2.21");
  // With a DT_RUNPATH the variable comes first.
  link_library(root.torch() / "lib/libtorch_cuda.so",
               {"libtorch_cuda.so", {"libcudnn.so.9"}, "$ORIGIN/../../nvidia/cudnn/lib", true});
  const Inspection taken = root.inspect();
  CHECK(version_of(taken, "cudnn").empty());
  CHECK_THAT(codes(taken),
             Catch::VectorContains(std::string("fail second-copy ") + kSite + "nvidia/cudnn/lib/libcudnn.so.9"));
}

TEST_CASE("a part that this cuDNN lacks and another one has is named before it crashes", "[image]") {
  const Root root;
  link_library(root.root() / "usr/lib/x86_64-linux-gnu/libcudnn_ext.so.9", {"libcudnn_ext.so.9"});
  CHECK(codes(root.inspect()) == Codes{"fail mixed-cudnn /usr/lib/x86_64-linux-gnu/libcudnn_ext.so.9"});
  const Root whole;  // a full copy in the system is none of its parts
  link_library(whole.root() / "usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9", {"libcudnn_ops.so.9"});
  CHECK(codes(whole.inspect()) == Codes{});
  const Root of_base;  // a cuDNN 8 of the base image, which a cuDNN 9 never asks for
  for (const char* name : {"libcudnn.so.8", "libcudnn_ops_infer.so.8", "libcudnn_ops_infer.so.8.9.7"}) {
    link_library(of_base.root() / "usr/lib/x86_64-linux-gnu" / name, {"libcudnn_x.so.8"});
  }
  CHECK(codes(of_base.inspect()) == Codes{});
}

TEST_CASE("two packages of one component, two PyTorch, or none are said", "[image]") {
  const Root twice;
  twice.add_metadata("nvidia-cudnn-cu13", "9.19.0.56");
  CHECK(codes(twice.inspect()) == Codes{std::string("fail package-twice ") + "/lib/python3.12/site-packages"});
  Root two;
  fs::create_directories(two.root() / "opt/conda/lib/python3.10/site-packages");
  fs::copy(two.torch(), two.root() / "opt/conda/lib/python3.10/site-packages/torch", fs::copy_options::recursive);
  CHECK(two.inspect().torches.front() == std::string(kSite) + "torch/lib");
  CHECK_THAT(codes(two.inspect()),
             Catch::VectorContains(std::string("fail two-torches /opt/conda/lib/python3.10/site-packages/torch/lib")));
  two.config.environment["PATH"] = "/usr/local/bin:/opt/conda/bin:/usr/bin";
  CHECK(two.inspect().torches.front() == "/opt/conda/lib/python3.10/site-packages/torch/lib");
  const Root none;
  fs::remove_all(none.torch());
  const Inspection inspection = none.inspect();
  CHECK(codes(inspection) == Codes{"fail no-torch "});
  CHECK(inspection.word == InspectionWord::refused);
}

TEST_CASE("libraries that are missing, cut off or for another machine fail", "[image]") {
  const Root missing;
  fs::remove(missing.nvidia() / "cuda_runtime/lib/libcudart.so.12");
  CHECK(codes(missing.inspect()) == Codes{std::string("fail missing-library ") + kSite + "torch/lib/libtorch_cpu.so"});
  const Root cut;
  write_file(cut.nvidia() / "cuda_runtime/lib/libcudart.so.12", "cut");
  CHECK_THAT(codes(cut.inspect()), Catch::VectorContains(std::string("fail damaged-library ") + kSite +
                                                         "nvidia/cuda_runtime/lib/libcudart.so.12"));
  const Root other;
  std::string bytes = read_file(other.torch() / "lib/libc10.so");
  bytes[18] = static_cast<char>(183);  // e_machine: AArch64
  write_file(other.torch() / "lib/libc10.so", bytes);
  CHECK_THAT(codes(other.inspect()),
             Catch::VectorContains(std::string("fail damaged-library ") + kSite + "torch/lib/libc10.so"));
}

TEST_CASE("the NCCL that counts is what its own bytes say, not a variable of the base image", "[image]") {
  Root root;
  write_file(root.root() / "nccl.c", "const char said[] = \"NCCL version 2.19.3+cuda12.1\";\n");
  link_library(root.nvidia() / "nccl/lib/libnccl.so.2", {"libnccl.so.2"}, (root.root() / "nccl.c").string(), "-x c");
  link_library(
      root.torch() / "lib/libtorch_cuda.so",
      {"libtorch_cuda.so",
       {"libcudart.so.12", "libcudnn.so.9", "libnccl.so.2"},
       "$ORIGIN/../../nvidia/nccl/lib:$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN"});
  root.config.environment = {
      {"NCCL_VERSION", "2.15.5-1"}, {"NV_CUDNN_VERSION", "8.6.0.163"}, {"CUDA_VERSION", "12.8.1"}};
  const Inspection inspection = root.inspect();
  CHECK(version_of(inspection, "nccl") == "2.19.3");
  CHECK(claim_of(inspection, "nccl").word == ClaimWord::contradicted);
  CHECK(claim_of(inspection, "nccl").claimed == "2.15.5");
  CHECK(claim_of(inspection, "nccl").found == "2.19.3");
  CHECK(claim_of(inspection, "nccl").source == "ENV NCCL_VERSION");
  CHECK(claim_of(inspection, "cudnn").word == ClaimWord::contradicted);
  CHECK(claim_of(inspection, "cuda").word == ClaimWord::agrees);
  CHECK(inspection.word == InspectionWord::refused);
}

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

TEST_CASE("a package that recorded no hash, or one of another kind, tells nothing of its files", "[image]") {
  const Root root;
  const std::string file = "nvidia/cudnn/lib/libcudnn.so.9";
  for (const char* hash : {"", "md5=AAAA"}) {
    write_file(root.site() / "nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD", file + "," + hash + ",1\n");
    const Inspection inspection = root.inspect();
    CHECK(codes(inspection) == Codes{});
    CHECK(version_of(inspection, "cudnn").empty());
  }
  // Of two packages that claim it, the one that has it counts.
  root.record("nvidia_cudnn_cu12-9.10.2.21", {file});
  write_file(root.site() / "other-1.0.dist-info/METADATA", "Name: other\nVersion: 1.0\n");
  write_file(root.site() / "other-1.0.dist-info/RECORD", file + ",sha256=AAAA,1\n");
  CHECK(codes(root.inspect()) == Codes{});
  CHECK(version_of(root.inspect(), "cudnn") == "9.10.2.21");
}

TEST_CASE("a library of a distribution has the version of its file's name, if that is a whole one", "[image]") {
  const Root root;
  fs::remove_all(root.nvidia() / "cudnn");
  fs::remove_all(root.site() / "nvidia_cudnn_cu12-9.10.2.21.dist-info");
  const fs::path folder = root.root() / "usr/lib/x86_64-linux-gnu";
  link_library(folder / "libcudnn.so.9.8.0", {"libcudnn.so.9"});
  fs::create_symlink("libcudnn.so.9.8.0", folder / "libcudnn.so.9");
  CHECK(version_of(root.inspect(), "cudnn") == "9.8.0");
  for (const ComponentRow& row : root.inspect().components) {
    if (row.component == "cudnn") CHECK_THAT(row.evidence, Contains("(its file's name)"));
  }
  fs::rename(folder / "libcudnn.so.9.8.0", folder / "libcudnn.so.9.8");
  fs::remove(folder / "libcudnn.so.9");
  fs::create_symlink("libcudnn.so.9.8", folder / "libcudnn.so.9");
  CHECK(version_of(root.inspect(), "cudnn").empty());
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

TEST_CASE("a library that is preloaded is none of those that were found", "[image]") {
  Root root;
  root.config.environment["LD_PRELOAD"] = "/opt/other/libcudnn.so.9:/usr/lib/libjemalloc.so.2";
  CHECK(codes(root.inspect()) ==
        Codes{"fail preloaded /opt/other/libcudnn.so.9", "warn preloaded /usr/lib/libjemalloc.so.2"});
  root.config.environment.clear();
  write_file(root.root() / "etc/ld.so.preload", "/opt/libnccl.so.2\n");
  CHECK(codes(root.inspect()) == Codes{"fail preloaded /opt/libnccl.so.2"});
}

TEST_CASE("a PyTorch that is a link is one, once, and one that tells no version is not judged", "[image]") {
  const Root root;
  fs::rename(root.torch() / "lib/libtorch_cpu.so", root.torch() / "lib/libtorch_cpu.so.9.8");
  fs::create_symlink("libtorch_cpu.so.9.8", root.torch() / "lib/libtorch_cpu.so");
  fs::create_directories(root.root() / "opt");
  fs::create_symlink("../lib/python3.12/site-packages/torch/lib/libtorch_cpu.so", root.root() / "opt/libtorch_cpu.so");
  fs::create_directories(root.root() / "bin");
  fs::create_symlink("../lib/python3.12/site-packages/torch/lib/libtorch_cpu.so", root.root() / "bin/libtorch_cpu.so");
  CHECK(root.inspect().torches == std::vector<std::string>{std::string(kSite) + "torch/lib"});
  const Root silent;
  fs::remove(silent.torch() / "version.py");
  fs::remove_all(silent.site() / "torch-9.8.7.dist-info");
  CHECK(codes(silent.inspect()) == Codes{std::string("unread no-version ") + kSite + "torch/lib"});
  CHECK(silent.inspect().word == InspectionWord::undecided);
}

TEST_CASE("a package whose metadata cannot be read is said", "[image]") {
  const Root root;
  write_file(root.site() / "nvidia_cudnn_cu13-9.19.0.56.dist-info/METADATA", std::string((16 << 20) + 1, 'x'));
  CHECK(codes(root.inspect()) ==
        Codes{std::string("unread metadata ") + kSite + "nvidia_cudnn_cu13-9.19.0.56.dist-info/METADATA"});
}

TEST_CASE("a package that was built for another torch than the one beside it is named", "[image]") {
  Root root;
  const auto install = [&](const std::string& package, const std::string& version, const std::string& wants) {
    write_file(root.site() / (package + "-" + version + ".dist-info/METADATA"),
               "Name: " + package + "\nVersion: " + version + "\nRequires-Dist: " + wants + "\n");
  };
  install("torchvision", "0.24.0", "torch==9.8.7");
  CHECK(codes(root.inspect()).empty());
  install("torchvision", "0.24.0", "torch (==9.8.6)");
  const Inspection mixed = root.inspect();
  CHECK(codes(mixed) == Codes{std::string("fail mispaired ") + kSite + "torchvision-0.24.0.dist-info"});
  CHECK(mixed.findings.front().what == "torchvision 0.24.0 asks for torch 9.8.6, and 9.8.7 is there");
  for (const char* wrong : {"torch==9.8", "torch==9", "torch==9.8.7.1", "torch==9.8.7+cpu"}) {
    CAPTURE(wrong);
    install("torchvision", "0.24.0", wrong);
    CHECK(root.inspect().word == InspectionWord::refused);
  }
  install("torchvision", "0.24.0", "torch==9.8.7.0");
  CHECK(codes(root.inspect()).empty());
  install("torchvision", "0.24.0", "torch>=9.8");
  install("other", "1", "numpy==1");
  install("numpy", "2", "x");  // what others pin among each other is pip's business
  CHECK(codes(root.inspect()).empty());
}

TEST_CASE("what torch pins and is there in another version is a warning", "[image]") {
  Root root;
  write_file(root.site() / "torch-9.8.7.dist-info/METADATA",
             "Name: torch\nVersion: 9.8.7+cu128\nRequires-Dist: nvidia-cudnn-cu12==9.8.0.87\n"
             "Requires-Dist: nvidia-nccl-cu12==2.27.5\n");
  const Inspection inspection = root.inspect();
  REQUIRE(inspection.findings.size() == 1);
  CHECK(inspection.findings.front().what ==
        "torch 9.8.7+cu128 asks for nvidia-cudnn-cu12 9.8.0.87, and 9.10.2.21 is there");
  CHECK(inspection.word == InspectionWord::warned);
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
