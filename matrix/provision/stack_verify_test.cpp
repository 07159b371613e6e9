#include "matrix/provision/stack_verify.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/provision_fixture.hpp"
#include "matrix/spec/version_agreement.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

StackSpec declared_stack() {
  StackSpec spec;
  spec.components = {{"torch", "2.9.0+cu128"}, {"cuda", "12.8"}, {"cudnn", "9.10.2"}};
  return spec;
}

Capability honest_capability() {
  Capability capability;
  capability.torch_version = "2.9.0";
  capability.fingerprint.components = {
      {.name = "torch", .compiled = "2.9.0", .loaded = "2.9.0+cu128", .path = "site/torch/lib/libtorch_cpu.so"},
      {.name = "cuda", .compiled = "", .loaded = "12.8.90", .path = "site/nvidia/cuda_runtime/lib/libcudart.so.12"},
      {.name = "cudnn", .compiled = "", .loaded = "", .path = ""}};
  capability.fingerprint.libraries = {{"site/torch/lib/libtorch_cpu.so", "ab"},
                                      {"/stacks/s/site/torch/lib/libc10.so", "cd"},
                                      {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "ef"}};
  return capability;
}

std::vector<std::string> findings_of(const Capability& capability) {
  std::vector<std::string> texts;
  for (const StackFinding& finding : find_disagreements(declared_stack(), capability, "/stacks/s")) {
    CHECK_FALSE(finding.is_settled);
    texts.push_back(finding.text);
  }
  return texts;
}

}  // namespace

TEST_CASE("a stack that is what it declares gives no finding", "[provision]") {
  CHECK(findings_of(honest_capability()).empty());
}

TEST_CASE("each disagreement of declared, compiled and loaded versions is one finding", "[provision]") {
  Capability capability = honest_capability();
  capability.fingerprint.components[0].compiled = "2.8.0";
  CHECK(findings_of(capability) == std::vector<std::string>{"torch: declared 2.9.0+cu128, compiled against 2.8.0"});

  capability = honest_capability();
  capability.fingerprint.components[1].loaded = "12.6.77";
  CHECK(findings_of(capability) == std::vector<std::string>{"cuda: declared 12.8, loaded 12.6.77 from "
                                                            "site/nvidia/cuda_runtime/lib/libcudart.so.12"});

  capability = honest_capability();
  capability.torch_version = "2.9.1";
  CHECK(findings_of(capability) == std::vector<std::string>{"torch: declared 2.9.0+cu128, the library says 2.9.1"});

  capability = honest_capability();
  capability.fingerprint.cxx11_abi = 0;
  CHECK(findings_of(capability) == std::vector<std::string>{"C++ ABI: declared 1, the worker was compiled with 0"});
}

TEST_CASE("torch may be built against an older cuDNN of the same major, but no newer one or other major",
          "[provision]") {
  Capability capability = honest_capability();
  capability.fingerprint.components[2].compiled = "9.8.0";
  CHECK(findings_of(capability).empty());
  capability.fingerprint.components[2].compiled = "9.11.0";
  CHECK(findings_of(capability) == std::vector<std::string>{"cudnn: declared 9.10.2, compiled against 9.11.0"});
  capability.fingerprint.components[2].compiled = "8.9.2";
  CHECK(findings_of(capability).size() == 1);
}

TEST_CASE("a torch or CUDA library from elsewhere is a finding, the host's own libraries are not", "[provision]") {
  Capability capability = honest_capability();
  capability.fingerprint.libraries.push_back({"/usr/local/cuda/lib64/libcudart.so.12", ""});
  CHECK(findings_of(capability) ==
        std::vector<std::string>{"/usr/local/cuda/lib64/libcudart.so.12 was loaded from outside the stack's folders"});
  capability.fingerprint.libraries.back().path = "/stacks/s-other/site/torch/lib/libc10.so";
  CHECK(findings_of(capability).size() == 1);
}

TEST_CASE("a system stack's patch number is said and settled by its package, its minor is not", "[provision]") {
  StackSpec spec;
  spec.source = StackSource::system;
  spec.components = {{"torch", "1.13.1"}};
  spec.library_dirs = {"/usr/lib/x86_64-linux-gnu"};
  Capability capability;
  const auto finding_of = [&](const std::string& version) {
    capability.torch_version = version;
    const std::string library = "/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13";
    capability.fingerprint.components = {{"torch", version, version, library}};
    capability.fingerprint.libraries = {{library, ""}};
    const auto findings = find_disagreements(spec, capability, "/stacks/s");
    REQUIRE(findings.size() == 1);
    // The verdict of a run says the same.
    CHECK(findings[0].text == find_version_disagreements(spec.components, capability.fingerprint).at(0).text);
    return findings[0];
  };
  CHECK(
      finding_of("1.13.0").text ==
      "torch: declared 1.13.1, compiled against and loaded 1.13.0 from /usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13");
  CHECK(finding_of("1.13.0").is_settled);
  CHECK_FALSE(finding_of("1.12.1").is_settled);
  spec.source = StackSource::wheel;
  CHECK_FALSE(finding_of("1.13.0").is_settled);
}

TEST_CASE("a hybrid's torch may be compiled against what was exchanged, and loads what the hybrid declares",
          "[provision]") {
  StackSpec spec;
  spec.source = StackSource::hybrid;
  spec.components = {{"torch", "2.9.0+cu128"}, {"cuda", "12.6"}};
  Capability capability;
  capability.torch_version = "2.9.0";
  capability.fingerprint.cxx11_abi = spec.cxx11_abi;
  const auto finding_of = [&](const std::string& compiled, const std::string& loaded) {
    capability.fingerprint.components = {{"torch", "2.9.0", "2.9.0", "site/torch/lib/libtorch_cpu.so"},
                                         {"cuda", compiled, loaded, "site/nvidia/lib/libcudart.so.12"}};
    const auto findings = find_disagreements(spec, capability, "/stacks/s");
    REQUIRE(findings.size() == 1);
    return findings[0];
  };
  CHECK(finding_of("12.8", "12.6.77").is_settled);
  CHECK(finding_of("12.8", "").is_settled);
  CHECK_FALSE(finding_of("12.8", "12.8.90").is_settled);
  spec.source = StackSource::wheel;
  CHECK_FALSE(finding_of("12.8", "12.6.77").is_settled);
}

TEST_CASE("a library that was changed or removed after the installation is found", "[provision]") {
  const TemporaryFolder folder;
  write_file(folder.path / "torch/lib/libc10.so", "bytes");
  StackManifest manifest;
  manifest.files = {{.path = "torch/lib/libc10.so", .size_bytes = 5, .sha256 = sha256_of_text("bytes")}};
  CHECK(find_changed_files(folder.path, manifest).empty());
  write_file(folder.path / "torch/lib/libc10.so", "Bytes");
  CHECK_THAT(find_changed_files(folder.path, manifest).at(0), ContainsSubstring("libc10.so: SHA-256 is"));
  std::filesystem::remove(folder.path / "torch/lib/libc10.so");
  CHECK_THAT(find_changed_files(folder.path, manifest).at(0), ContainsSubstring("is missing"));
}

TEST_CASE("a library is the stack's by its name, and inside by its folder alone", "[provision]") {
  for (const char* name : {"libtorch_cpu.so", "libc10.so", "libcudart.so.12", "libcupti.so", "libcublas.so",
                           "libcudnn.so.9", "libnccl.so.2", "libcufft.so", "libcurand.so", "libcusolver.so",
                           "libcusparse.so", "libnvrtc.so", "libnvJitLink.so"}) {
    Capability capability = honest_capability();
    capability.fingerprint.libraries = {{std::string("/opt/") + name, ""}};
    CHECK(findings_of(capability) ==
          std::vector<std::string>{std::string("/opt/") + name + " was loaded from outside the stack's folders"});
  }
  StackSpec spec = declared_stack();
  spec.library_dirs = {"/opt/one", "/opt/two/"};
  const auto is_inside = [&](const std::string& path) {
    Capability capability = honest_capability();
    capability.fingerprint.libraries = {{path, ""}};
    return find_disagreements(spec, capability, "/stacks/s/").empty();
  };
  CHECK(is_inside("/opt/one/libc10.so"));
  CHECK(is_inside("/opt/two/below/libc10.so"));
  CHECK(is_inside("/stacks/s/libc10.so"));
  CHECK_FALSE(is_inside("/opt/one-more/libc10.so"));
  CHECK_FALSE(is_inside("/stacks/s2/libc10.so"));
}

TEST_CASE("a torch that disagrees is named once", "[provision]") {
  Capability capability = honest_capability();
  capability.torch_version = "2.8.0";
  capability.fingerprint.components[0].loaded = "2.8.0";
  capability.fingerprint.components[0].compiled = "2.8.0";
  CHECK(findings_of(capability).size() == 1);
}

TEST_CASE("a wheel that was changed since it was fetched is found, one that was deleted is none", "[provision]") {
  const TemporaryFolder folder;
  write_file(folder.path / "a.whl", "bytes");
  write_file(folder.path / "b.whl", "changed");
  const std::string hash = sha256_of_text("bytes");
  const std::vector<LockedWheel> lock = {
      {"a", "1", hash, "a.whl", 5}, {"c", "1", hash, "c.whl", 5}, {"b", "1", hash, "b.whl", 5}};
  CHECK(find_changed_wheels(folder.path, lock) ==
        std::vector<std::string>{"b.whl: SHA-256 is " + sha256_of_text("changed") + ", the lock says " + hash});
}
