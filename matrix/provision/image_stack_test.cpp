#include "matrix/provision/image_stack.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/environment_fixture.hpp"
#include "matrix/provision/stack_store.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using namespace test;
using Catch::Contains;
using Catch::StartsWith;

const ImageIdentity kImage{"team/pytorch:9.8", "sha256:0f"};

std::string refusal(const fs::path& root) {
  return message_of<ProvisionError>([&] { find_image_stack("candidate", kImage, root); });
}

TEST_CASE("the one PyTorch of a root is a stack with the paths that its own programs see", "[provision]") {
  const FakeEnvironment image;
  const ImageStack found = find_image_stack("candidate", kImage, image.root());
  const StackSpec& spec = found.spec;
  CHECK(spec.name == "candidate");
  CHECK(spec.source == StackSource::image);
  CHECK_FALSE(spec.is_adopted());
  CHECK(spec.image == kImage.name);
  CHECK(spec.image_digest == kImage.digest);
  CHECK(spec.root == fs::canonical(image.root()).string());
  CHECK(spec.library_dirs.front() == "/lib/python3.12/site-packages/torch/lib");
  CHECK(spec.include_dirs.front() == "/lib/python3.12/site-packages/torch/include");
  CHECK(spec.components.at("torch") == "9.8.7+cu128");
  CHECK(spec.libraries.contains("libtorch_cpu.so"));
  CHECK(find_image_problem(spec).empty());
}

TEST_CASE("a link in a root leads to where it leads inside", "[provision]") {
  const FakeEnvironment image;
  fs::create_directories(image.root() / "opt");
  fs::rename(image.root() / "lib", image.root() / "opt/real");
  fs::create_symlink("/opt/real", image.root() / "lib");
  const StackSpec spec = find_image_stack("candidate", kImage, image.root()).spec;
  CHECK(spec.library_dirs.front() == "/opt/real/python3.12/site-packages/torch/lib");
}

// As pip leaves a PyTorch: libraries of CUDA whole, without the headers of its compiler.
TEST_CASE("headers of CUDA that a root lacks are asked of this host, and only those", "[provision]") {
  const TemporaryVariable no_toolkit("CUDA_HOME", "/nowhere");
  const FakeEnvironment image;
  const TemporaryFolder toolkit;
  std::vector<std::string> asked;
  const CudaHeaderSource source = [&](const std::string& cuda) {
    asked.push_back(cuda);
    return HostCudaHeaders{{toolkit.path.string()}, "somewhere"};
  };
  const auto found = [&] { return find_image_stack("candidate", kImage, image.root(), source); };
  CHECK(found().spec.host_include_dirs.empty());
  CHECK(asked.empty());

  const std::string digest_before = StackStore("/nowhere", REPROBENCH_SOURCE_ROOT, kShepherd).find(found().spec).digest;
  const fs::path include = image.nvidia() / "cuda_runtime/include";
  fs::remove(include / "crt/host_defines.h");
  fs::remove(include / "nv/target");
  write_file(toolkit.path / "crt/host_defines.h", "");
  const ImageStack half = found();  // this host has one of the two
  CHECK(asked == std::vector<std::string>{"12.8"});
  CHECK_FALSE(half.spec.components.contains("cuda"));
  CHECK(half.spec.host_include_dirs.empty());
  CHECK_THAT(half.notes.at(0), StartsWith("headers of CUDA 12.8 are missing: crt/host_defines.h, nv/target"));

  write_file(toolkit.path / "nv/target", "");
  const ImageStack whole = found();
  CHECK(whole.spec.components.at("cuda") == "12.8");
  CHECK(whole.spec.components.at("cudnn") == "9.10.2");
  CHECK(whole.spec.host_include_dirs == std::vector<std::string>{toolkit.path.string()});
  CHECK(whole.notes == std::vector<std::string>{"headers of CUDA that it lacks are taken from somewhere"});
  CHECK(find_image_problem(whole.spec).empty());
  CHECK(StackStore("/nowhere", REPROBENCH_SOURCE_ROOT, kShepherd).find(whole.spec).digest != digest_before);

  asked.clear();
  CHECK_FALSE(find_image_stack("candidate", kImage, image.root()).spec.components.contains("cuda"));
  write_file(include / "cuda_runtime_api.h", "#define CUDART_VERSION  12060\n");
  CHECK_THAT(found().notes.at(0), StartsWith("its CUDA headers are those of 12.6"));
  CHECK(asked.empty());
}

TEST_CASE("a driver of its own among the libraries of PyTorch is said, since it would be used", "[provision]") {
  const FakeEnvironment image;
  CHECK(find_image_stack("candidate", kImage, image.root()).notes.empty());
  link_library(image.nvidia() / "cuda_runtime/lib/libcuda.so.1", {"libcuda.so.1"});
  CHECK(
      find_image_stack("candidate", kImage, image.root()).notes ==
      std::vector<std::string>{"its own libcuda.so.1 in /lib/python3.12/site-packages/nvidia/cuda_runtime/lib is used "
                               "instead of the host's driver"});
}

TEST_CASE("a root without a PyTorch, with two, or with one for another machine is no stack", "[provision]") {
  const TemporaryFolder empty;
  CHECK_THAT(refusal(empty.path), StartsWith("team/pytorch:9.8 is no stack: inside it, no PyTorch below /:"));
  const FakeEnvironment two;
  fs::create_directories(two.root() / "opt/venv");
  fs::copy(two.root() / "lib", two.root() / "opt/venv/lib", fs::copy_options::recursive);
  CHECK_THAT(refusal(two.root()), Contains("2 PyTorch are below /: ") && Contains("/opt/venv/lib/python3.12"));
  const FakeEnvironment other;
  std::string bytes = read_file(other.torch() / "lib/libtorch_cpu.so");
  bytes[18] = '\xb7';  // EM_AARCH64
  write_file(other.torch() / "lib/libtorch_cpu.so", bytes);
  CHECK_THAT(refusal(other.root()), Contains("is no library for x86-64"));
  CHECK_THAT(refusal(other.root() / "lib/python3.12/site-packages/torch/version.py"), Contains("is no folder"));
}

TEST_CASE("a root that has changed, or is gone, is noticed", "[provision]") {
  const FakeEnvironment image;
  StackSpec spec = find_image_stack("candidate", kImage, image.root()).spec;
  link_library(image.torch() / "lib/libc10.so", {"libc10.so", {}, "", false, "0x00ff"}, "/dev/null");
  CHECK_THAT(find_image_problem(spec), StartsWith("libc10.so is another one now: its build is 00ff and was"));
  CHECK_THAT(find_image_problem(spec), Contains("`reprobench qualify` reads it again"));
  fs::remove(image.torch() / "lib/libtorch_cpu.so");
  CHECK_THAT(find_image_problem(spec), StartsWith("no libtorch_cpu.so in"));
  spec.root = "/nowhere";
  CHECK(find_image_problem(spec) == "the image team/pytorch:9.8 cannot be read any more: /nowhere is no folder");
}

TEST_CASE("a worker that needs a newer C library than the root has is refused, by version and library", "[provision]") {
  const FakeEnvironment image;
  const StackSpec spec = find_image_stack("candidate", kImage, image.root()).spec;
  CHECK(find_runtime_lack(spec, "/etc/passwd") == "which versions of symbols /etc/passwd needs cannot be read");
  CHECK_THAT(find_runtime_lack(spec, "/proc/self/exe"), Contains("it has no libc.so.6"));
  link_library(image.root() / "lib/libc.so.6", {"libc.so.6"});
  const std::string lack = find_runtime_lack(spec, "/proc/self/exe");
  CHECK_THAT(lack,
             StartsWith("a worker that is built on this host does not start in team/pytorch:9.8: its /lib/libc.so.6 "
                        "lacks GLIBC_"));
}

TEST_CASE("an image is installed under what its worker is built against, whatever its role", "[provision]") {
  const FakeEnvironment image;
  const TemporaryFolder home;
  const StackStore store(home.path, REPROBENCH_SOURCE_ROOT, kShepherd);
  const StackSpec candidate = find_image_stack("candidate", kImage, image.root()).spec;
  const StackSpec reference = find_image_stack("reference", {"other", "sha256:10"}, image.root()).spec;
  CHECK(store.find(candidate).folder == store.find(reference).folder);
  CHECK_THAT(store.find(candidate).folder.filename().string(), StartsWith("image-"));
  StackSpec changed = candidate;
  changed.libraries["libc10.so"] = "00ff";
  CHECK(store.find(changed).folder != store.find(candidate).folder);
  changed = candidate;
  changed.root += "/other";
  CHECK(store.find(changed).folder != store.find(candidate).folder);
  REQUIRE(store.enclosure(store.find(candidate)));
  CHECK(store.enclosure(store.find(candidate))->root == candidate.root);
  InstalledStack of_wheels;
  CHECK_FALSE(store.enclosure(of_wheels));
}

}  // namespace
}  // namespace reprobench
