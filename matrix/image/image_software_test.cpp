// What is found in images that were put together wrongly, as users have met them.
#include "matrix/image/image_software.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/image/inspection_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using namespace test;
namespace fs = std::filesystem;

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

TEST_CASE("a library in a folder of ld.so.conf that ldconfig has not seen is none that the loader finds", "[image]") {
  Root root;
  fs::create_directories(root.root() / "usr/local/lib");
  fs::rename(root.nvidia() / "cudnn/lib/libcudnn.so.9", root.root() / "usr/local/lib/libcudnn.so.9");
  fs::remove_all(root.nvidia() / "cudnn");
  write_file(root.root() / "etc/ld.so.conf", "/usr/local/lib\n");
  const std::string unseen = "warn not-in-cache /usr/local/lib/libcudnn.so.9";
  CHECK_THAT(codes(root.inspect()), Catch::VectorContains(unseen));
  CHECK_THAT(codes(root.inspect()),
             Catch::VectorContains(std::string("fail missing-library ") + kSite + "torch/lib/libtorch_cuda.so"));
  // Another one is taken, if there is one where the loader looks by itself.
  link_library(root.root() / "usr/lib/libcudnn.so.9", {"libcudnn.so.9", {}, "", false, "0x00aa"});
  const Inspection other = root.inspect();
  CHECK_THAT(codes(other), Catch::VectorContains(std::string("warn second-copy /usr/local/lib/libcudnn.so.9")));
  CHECK(other.word == InspectionWord::warned);
  fs::remove(root.root() / "usr/lib/libcudnn.so.9");
  // Names end in a 0 there, so a longer one is another.
  write_file(root.root() / "etc/ld.so.cache",
             std::string("glibc-ld.so.cache1.1\0/usr/local/lib/libcudnn.so.9.1\0", 52));
  CHECK_THAT(codes(root.inspect()), Catch::VectorContains(unseen));
  write_file(root.root() / "etc/ld.so.cache", std::string("glibc-ld.so.cache1.1\0/usr/local/lib/libcudnn.so.9\0", 50));
  CHECK_THAT(codes(root.inspect()), !Catch::VectorContains(unseen));
  fs::remove(root.root() / "etc/ld.so.cache");
  root.config.environment["LD_LIBRARY_PATH"] = "/usr/local/lib";
  CHECK_THAT(codes(root.inspect()), !Catch::VectorContains(unseen));
}

TEST_CASE("a library for some processors alone is named, since the image is started on others too", "[image]") {
  const Root root;
  const fs::path special = root.torch() / "lib/glibc-hwcaps/x86-64-v2/libc10.so";
  link_library(special, {"libc10.so", {}, "$ORIGIN/../../../../nvidia/cuda_runtime/lib", false, "0x77"});
  const Inspection inspection = root.inspect();
  CHECK(codes(inspection) ==
        Codes{"warn by-processor /lib/python3.12/site-packages/torch/lib/glibc-hwcaps/x86-64-v2/libc10.so"});
  CHECK(inspection.findings[0].what ==
        "processors of this kind load this libc10.so, others /lib/python3.12/site-packages/torch/lib/libc10.so");
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

}  // namespace
}  // namespace reprobench
