#include "matrix/provision/hybrid/hybrid_site.hpp"

#include "ci/catch.hpp"
#include "matrix/base/elf_library.hpp"
#include "matrix/provision/hybrid/hybrid_fixture.hpp"
#include "matrix/provision/hybrid/hybrid_rules.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

using Texts = std::vector<std::string>;

std::string build_id(const std::filesystem::path& library) { return read_elf_library(library)->build_id; }

// With `from`'s component in `base`: what `find_abi_problems` says.
Texts problems_of(const StackHome& home, const std::string& base, const std::string& component,
                  const std::string& from) {
  const SiteSource a = home.source(base);
  const SiteSource b = home.source(from);
  return find_abi_problems(compose_site(a, {{component, &b}}));
}

}  // namespace

TEST_CASE("a component is a package, and OpenMP the library that torch's wheel carries", "[provision]") {
  CHECK(component_of_package("torch") == "torch");
  CHECK(component_of_package("nvidia-cudnn-cu12") == "cudnn");
  CHECK(component_of_package("nvidia-cuda-runtime-cu12") == "cudart");
  CHECK(component_of_package("nvidia-cuda-runtime") == "cudart");
  CHECK(component_of_package("nvidia-nvshmem-cu13") == "nvshmem");
  StackHome home;
  home.add_stack("a");
  const SiteParts parts = site_parts(home.site("a"));
  CHECK(parts.at("openmp").libraries() == Texts{"torch/lib/libgomp.so.1"});
  CHECK(parts.at("torch").libraries() == Texts{"torch/lib/libtorch_cpu.so"});
  CHECK(parts.at("cudart").package == "nvidia-cuda-runtime-cu12");
  CHECK(parts.at("cudart").version == "1.0");
  write_file(home.site("a") / "torch/lib/libstray.so", "");
  CHECK_THROWS_WITH(site_parts(home.site("a")), ContainsSubstring("libstray.so is of no package"));
  home.add_file("a", "nvidia-other", "torch/lib/libtorch_cpu.so", "");
  CHECK_THROWS_WITH(site_parts(home.site("a")), ContainsSubstring("libtorch_cpu.so is of "));
}

TEST_CASE("a hybrid has the one stack's files, and of the other those of the component", "[provision]") {
  StackHome home;
  home.add_stack("a");
  home.add_stack("b");
  const SiteSource a = home.source("a");
  const SiteSource b = home.source("b");
  CHECK(differing_components(a, b) == Texts{"cudart", "openmp", "torch"});
  CHECK(differing_components(a, a).empty());
  const std::filesystem::path site = home.path() / "hybrid/site";
  const StackManifest manifest = link_site(compose_site(a, {{"cudart", &b}}), site);
  CHECK(build_id(site / "nvidia/cuda_runtime/lib/libcudart.so.12") ==
        build_id(home.site("b") / "nvidia/cuda_runtime/lib/libcudart.so.12"));
  CHECK(build_id(site / "torch/lib/libtorch_cpu.so") == build_id(home.site("a") / "torch/lib/libtorch_cpu.so"));
  CHECK(build_id(site / "torch/lib/libgomp.so.1") == build_id(home.site("a") / "torch/lib/libgomp.so.1"));
  CHECK(read_file(site / "torch/include/version.h") == "// of a");
  REQUIRE(manifest.files.size() == 3);
  for (const UnpackedFile& file : manifest.files) CHECK(sha256_of_file(site / file.path) == file.sha256);
  // No byte is copied.
  CHECK(std::filesystem::equivalent(site / "torch/lib/libgomp.so.1", home.site("a") / "torch/lib/libgomp.so.1"));
}

TEST_CASE("torch leaves OpenMP where it is, under the name that the new torch asks for", "[provision]") {
  StackHome home;
  home.add_stack("a", "libgomp-c9fef706.so.1");
  home.add_stack("b", "libgomp.so.1");
  const SiteSource a = home.source("a");
  const SiteSource b = home.source("b");
  const std::filesystem::path site = home.path() / "hybrid/site";
  link_site(compose_site(a, {{"torch", &b}}), site);
  CHECK(build_id(site / "torch/lib/libtorch_cpu.so") == build_id(home.site("b") / "torch/lib/libtorch_cpu.so"));
  CHECK(build_id(site / "torch/lib/libgomp.so.1") == build_id(home.site("a") / "torch/lib/libgomp-c9fef706.so.1"));
  CHECK_FALSE(std::filesystem::exists(site / "torch/lib/libgomp-c9fef706.so.1"));
  CHECK(read_file(site / "torch/include/version.h") == "// of b");
  CHECK(find_abi_problems(compose_site(a, {{"torch", &b}})).empty());
  CHECK(find_abi_problems(compose_site(a, {{"openmp", &b}})).empty());
}

TEST_CASE("torch takes along what only its stack has, and leaves behind what only the other has", "[provision]") {
  StackHome home;
  home.add_stack("a");
  home.add_stack("b");
  home.add_library("a", "nvidia-old-cu12", "nvidia/old/lib/libold.so.1", {"libold.so.1"});
  home.add_library("b", "nvidia-nvshmem-cu12", "nvidia/nvshmem/lib/libnvshmem.so.3", {"libnvshmem.so.3"});
  const SiteSource a = home.source("a");
  const SiteSource b = home.source("b");
  const HybridSite hybrid = compose_site(a, {{"torch", &b}});
  CHECK(hybrid.origins.at("nvshmem") == &b);
  CHECK_FALSE(hybrid.origins.contains("old"));
  CHECK_FALSE(compose_site(a, {{"cudart", &b}}).origins.contains("nvshmem"));
  CHECK_THROWS_WITH(compose_site(a, {{"cudnn", &b}}),
                    "a as it is installed has no library of `cudnn`; it has cudart, old, openmp, torch");
  CHECK_THROWS_WITH(compose_site(a, {{"old", &b}}), ContainsSubstring("b as it is installed has no library of `old`"));
}

TEST_CASE("a library of another major is refused by its name", "[provision]") {
  StackHome home;
  home.add_stack("a");
  home.add_stack("b", "libgomp.so.1", "libcudart.so.13");
  const Texts problems = problems_of(home, "a", "cudart", "b");
  CHECK(problems == Texts{"soname: torch of a asks cudart for libcudart.so.12, the one of b has libcudart.so.13",
                          "needed: libtorch_cpu.so of a needs libcudart.so.12, which the hybrid does not have"});
  CHECK(problems_of(home, "a", "torch", "b").size() == 2);
}

TEST_CASE("a component that torch opens by name is held to it though nothing needs it", "[provision]") {
  StackHome home;
  home.add_stack("a");
  home.add_stack("b");
  home.add_library("a", "nvidia-cudnn-cu12", "nvidia/cudnn/lib/libcudnn.so.9", {"libcudnn.so.9"});
  home.add_library("b", "nvidia-cudnn-cu12", "nvidia/cudnn/lib/libcudnn.so.8", {"libcudnn.so.8"});
  CHECK(problems_of(home, "a", "cudnn", "b") ==
        Texts{"soname: torch of a asks cudnn for libcudnn.so.9, the one of b has libcudnn.so.8"});
}

TEST_CASE("an older library that lacks a function torch calls is refused, a newer one is not", "[provision]") {
  StackHome home;
  home.add_stack("old", "libgomp.so.1", "libcudart.so.12", "void cudaMalloc() {}",
                 "extern void cudaMalloc(); void run() { cudaMalloc(); }");
  home.add_stack("new", "libgomp.so.1", "libcudart.so.12", "void cudaMalloc() {} void cudaMallocAsync() {}",
                 "extern void cudaMalloc(), cudaMallocAsync(); void run() { cudaMalloc(); cudaMallocAsync(); }");
  CHECK(problems_of(home, "old", "cudart", "new").empty());
  CHECK(problems_of(home, "new", "cudart", "old") ==
        Texts{"symbols: libtorch_cpu.so of new takes 2 symbols, of which libcudart.so.12 of old lacks 1: "
              "cudaMallocAsync"});
  CHECK(problems_of(home, "old", "torch", "new").size() == 1);
}

TEST_CASE("files of a stack that is not there, or whose manifest lacks a library, make no hybrid", "[provision]") {
  StackHome home;
  home.add_stack("a");
  home.add_stack("b");
  CHECK_THROWS_WITH(site_source(home.path() / "c"), ContainsSubstring("no stack is installed in"));
  const SiteSource a = home.source("a");
  SiteSource b = home.source("b");
  std::erase_if(b.manifest.files,
                [](const UnpackedFile& file) { return file.path.find("cudart") != std::string::npos; });
  CHECK_THROWS_WITH(link_site(compose_site(a, {{"cudart", &b}}), home.path() / "hybrid/site"),
                    ContainsSubstring("libcudart.so.12 is not in the manifest of b"));
}

TEST_CASE("the stack file of a hybrid says of which stacks it is, and declares their versions", "[provision]") {
  StackHome home;
  home.add_stack("a");
  home.add_stack("b");
  StackSpec spec_a;
  spec_a.name = "a";
  spec_a.components = {{"torch", "2.8.0+cu128"}, {"cuda", "12.8"}, {"cudnn", "9.10.2"}};
  StackSpec spec_b = spec_a;
  spec_b.name = "b";
  spec_b.components = {{"torch", "2.9.0+cu128"}, {"cuda", "12.9"}, {"cudnn", "9.11.0"}};
  const HybridSource base{spec_a, StackHome::folder_of("a")};
  const HybridSources from{{"cudart", {spec_b, StackHome::folder_of("b")}},
                           {"openmp", {spec_b, StackHome::folder_of("b")}}};
  CHECK(hybrid_name("a", from) == "a-with-cudart-openmp-of-b");
  const StackSpec hybrid = parse_stack(hybrid_stack_file("mine", base, from), "mine.yaml");
  CHECK(hybrid.source == StackSource::hybrid);
  CHECK(hybrid.summary == "a with cudart, openmp of b");
  CHECK(hybrid.base == "a-0123456789ab");
  CHECK(hybrid.parts.at("openmp") == "b-0123456789ab");
  CHECK(hybrid.components ==
        std::map<std::string, std::string>{{"torch", "2.8.0+cu128"}, {"cuda", "12.9"}, {"cudnn", "9.10.2"}});
  CHECK(folder_of_torch(hybrid) == "a-0123456789ab");
  CHECK(find_hybrid_problems(home.path(), hybrid).empty());
  StackSpec leading_out = hybrid;
  leading_out.base = "../a-0123456789ab";
  CHECK_THROWS_WITH(find_hybrid_problems(home.path(), leading_out), ContainsSubstring("is no folder of a stack"));
  const std::string long_name(50, 'x');
  CHECK(hybrid_name(long_name, from).size() <= 64);
  CHECK_NOTHROW(parse_stack(hybrid_stack_file(hybrid_name(long_name, from), base, from), "mine.yaml"));
}

TEST_CASE("a hybrid is not made of a stack whose library has changed, nor of one without its GPU part", "[provision]") {
  StackHome home;
  home.add_stack("a");
  home.add_stack("b");
  StackSpec hybrid;
  hybrid.base = StackHome::folder_of("a");
  hybrid.parts = {{"cudart", StackHome::folder_of("b")}};
  StackManifest with_gpu = home.source("b").manifest;
  with_gpu.with_gpu = true;
  write_manifest(home.path() / hybrid.parts["cudart"], with_gpu);
  CHECK_THROWS_WITH(make_hybrid_site(home.path(), hybrid, home.path() / "one/site"),
                    ContainsSubstring("one is installed with its GPU part and one without"));
  with_gpu.with_gpu = false;
  write_manifest(home.path() / hybrid.parts["cudart"], with_gpu);
  CHECK(make_hybrid_site(home.path(), hybrid, home.path() / "two/site").files.size() == 3);
  write_file(home.site("b") / "torch/lib/libtorch_cpu.so", "another");
  CHECK_THROWS_WITH(make_hybrid_site(home.path(), hybrid, home.path() / "three/site"),
                    ContainsSubstring("b is not what was installed: "));
}
