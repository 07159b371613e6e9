#include "matrix/image/gpu_claims.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Names = std::vector<std::string>;

ImageLibrary library(const char* name, Names capabilities, bool is_taken = true) {
  ImageLibrary library;
  library.name = name;
  library.path = std::string("/lib/") + name;
  library.capabilities = std::move(capabilities);
  library.is_taken = is_taken;
  return library;
}

JudgedClaim judged(const std::string& gpu, std::vector<ImageLibrary> libraries) {
  ImageSoftware software;
  software.torches = {"lib"};
  software.libraries = std::move(libraries);
  JudgedClaim claim;
  claim.component = "gpu";
  claim.claimed = gpu;
  return judge_gpu_claim(claim, software);
}

TEST_CASE("a GPU is promised where torch and NCCL have code that runs on it", "[image]") {
  const ImageLibrary torch = library("libtorch_cuda.so", {"7.5", "8.0", "9.0", "12.0+PTX"});
  const ImageLibrary nccl = library("libnccl.so.2", {"7.5", "8.0", "9.0"});
  for (const char* gpu : {"7.5", "8.0", "8.6", "8.9", "9.0"}) {
    CAPTURE(gpu);
    CHECK(judged(gpu, {torch, nccl}).word == ClaimWord::agrees);
    CHECK(judged(gpu, {torch}).word == ClaimWord::agrees);  // one without NCCL has no collectives to fail
  }
  for (const char* gpu : {"7.0", "10.0", "11.0"}) {
    CAPTURE(gpu);
    CHECK(judged(gpu, {torch, nccl}).word == ClaimWord::contradicted);
  }
  CHECK(judged("9.0", {torch}).found == "7.5 8.0 9.0 12.0+PTX");
  CHECK_THAT(judged("7.0", {torch}).why,
             Contains("/lib/libtorch_cuda.so has code for 7.5 8.0 9.0 12.0+PTX, none that runs on 7.0"));
}

TEST_CASE("PTX reaches later GPUs, and an NCCL that has none there fails the promise", "[image]") {
  const ImageLibrary torch = library("libtorch_cuda.so", {"9.0", "12.0+PTX"});
  CHECK(judged("12.0", {torch}).word == ClaimWord::agrees);
  CHECK(judged("12.1", {torch, library("libnccl.so.2", {"12.0+PTX"})}).word == ClaimWord::agrees);
  const JudgedClaim without = judged("12.1", {torch, library("libnccl.so.2", {"9.0"})});
  CHECK(without.word == ClaimWord::contradicted);
  CHECK(without.why == "/lib/libnccl.so.2 has code for 9.0: collectives fail on 12.1");
}

TEST_CASE("without device code in evidence nothing is promised", "[image]") {
  const ImageLibrary torch = library("libtorch_cuda.so", {"9.0"});
  CHECK(judged("9.0", {}).word == ClaimWord::contradicted);
  CHECK(judged("9.0", {library("libtorch_cuda.so", {"9.0"}, /*is_taken=*/false)}).word == ClaimWord::contradicted);
  CHECK(judged("9.0", {library("libtorch_cuda.so", {})}).word == ClaimWord::unread);
  CHECK(judged("9.0", {torch, library("libnccl.so.2", {})}).word == ClaimWord::unread);
  JudgedClaim claim;
  claim.claimed = "9.0";
  ImageSoftware none;
  none.libraries = {torch};
  CHECK(judge_gpu_claim(claim, none).why == "no PyTorch in it has a CUDA part");
}

}  // namespace
}  // namespace reprobench
