#include "matrix/cli/image_mixes.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Texts = std::vector<std::string>;

const std::string kTorch = "/opt/venv/lib/python3.12/site-packages/torch/lib/";
const std::string kNvidia = "/opt/venv/lib/python3.12/site-packages/nvidia/";

// What two workers have loaded that differ in torch alone.
struct TwoImages {
  StackSpec good;
  StackSpec bad;
  Fingerprint loaded_good;
  Fingerprint loaded_bad;

  TwoImages() {
    good.name = "good";
    bad.name = "bad";
    loaded_good.libraries = {{kTorch + "libtorch_cpu.so", "a1"},
                             {kTorch + "libgomp.so.1", "a2"},
                             {kNvidia + "cuda_runtime/lib/libcudart.so.12", "c1"},
                             {"/usr/lib/x86_64-linux-gnu/libc.so.6", "d1"}};
    loaded_bad = loaded_good;
    loaded_bad.libraries[0].build_id = "b1";
    loaded_bad.libraries[1].build_id = "b2";
  }

  ImageMixes mixes() const { return {{good, &loaded_good}, {bad, &loaded_bad}}; }
};

TEST_CASE("two images that differ in what torch's wheel carries differ in torch", "[cli][bisect]") {
  const TwoImages images;
  ImageMixes mixes = images.mixes();
  CHECK(mixes.names() == Texts{"torch"});
  REQUIRE(mixes.components().size() == 1);
  CHECK(mixes.components()[0].bad.at(0).identity == "b2");
  CHECK(mixes.made_with({"torch"}).stack == "bad");
  CHECK(mixes.making({"torch"}).empty());
}

TEST_CASE("whatever else two images have loaded is a component that no mix can leave out", "[cli][bisect]") {
  TwoImages images;
  images.loaded_bad.libraries[2].build_id = "c2";
  images.loaded_bad.libraries[3].build_id = "d2";
  images.loaded_bad.environment["OMP_NUM_THREADS"] = "4";
  ImageMixes mixes = images.mixes();
  CHECK(mixes.names() == Texts{"cudart", "libc", "torch", "environment"});
  CHECK(mixes.made_with({"torch"}).stack.empty());
  CHECK_FALSE(mixes.made_with({"torch"}).why_not.empty());
  CHECK(mixes.made_with(mixes.names()).stack == "bad");
}

TEST_CASE("a library of CUDA 13's one folder is the component that it was in a package of its own", "[cli][bisect]") {
  TwoImages images;
  MappedLibrary& runtime = images.loaded_bad.libraries[2];
  runtime.build_id = "c2";
  const auto named = [&](const std::string& library) {
    runtime.path = "/opt/venv/lib/python3.12/site-packages/nvidia/cu13/lib/" + library;
    return images.mixes().names();
  };
  CHECK(named("libcudart.so.13") == Texts{"cudart", "torch"});
  CHECK(named("libcupti.so.13") == Texts{"cudart", "cupti", "torch"});
  CHECK(named("libcublasLt.so.13") == Texts{"cublas", "cudart", "torch"});
  CHECK(named("libcudnn_ops.so.9") == Texts{"cudart", "cudnn", "torch"});
}

TEST_CASE("a library that nothing identifies is not taken for the same", "[cli][bisect]") {
  TwoImages images;
  images.loaded_good.libraries[3].build_id = images.loaded_bad.libraries[3].build_id = "";
  CHECK(images.mixes().names() == Texts{"libc", "torch"});
  images.good.libraries = images.bad.libraries = {{"libc.so.6", "sha256:1"}};
  CHECK(images.mixes().names() == Texts{"torch"});
  images.bad.libraries = {{"libc.so.6", "sha256:2"}};
  CHECK(images.mixes().names() == Texts{"libc", "torch"});
}

TEST_CASE("of an image whose worker does not run nothing is known", "[cli][bisect]") {
  const TwoImages images;
  CHECK(ImageMixes({images.good, &images.loaded_good}, {images.bad, nullptr}).names().empty());
}

}  // namespace
}  // namespace reprobench
