#include "matrix/cli/text/stack_text.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("every component is shown as declared, compiled and loaded, and a dash stands for what is not known",
          "[cli]") {
  InstalledStack stack;
  stack.spec.name = "here";
  stack.spec.components = {{"torch", "2.9.0"}, {"nccl", "2.27"}};
  stack.folder = "/stacks/here";
  Capability capability;
  capability.fingerprint.components = {{"torch", "2.9.0", "2.9.0a", "lib/libtorch.so"},
                                       {"nccl", "", "", ""},
                                       {"openmp", "201511", "201611", "/usr/lib/libgomp.so.1"}};
  capability.fingerprint.blas_provider = "mkl";
  capability.fingerprint.cpu_capability = "AVX2";
  capability.fingerprint.cxx11_abi = 0;
  capability.fingerprint.compiler = "g++ 12";
  CHECK(loaded_versions_text(stack, capability) ==
        "here  /stacks/here\n"
        "  component  declared         compiled         loaded                 from\n"
        "  torch      2.9.0            2.9.0            2.9.0a                 lib/libtorch.so\n"
        "  nccl       2.27             -                not loaded\n"
        "  openmp     -                201511           201611                 /usr/lib/libgomp.so.1\n"
        "  BLAS mkl, CPU capability AVX2, C++ ABI 0, worker built by g++ 12\n");
}

TEST_CASE("a settled finding is a warning, any other fails, and none is silence", "[cli]") {
  StackSpec spec;
  spec.name = "here";
  CHECK(findings_text(spec, {}).empty());
  CHECK(all_settled({}));
  CHECK(findings_text(spec, {{"one\nline", true}, {"two", false}}) == "here: WARN one line\nhere: FAIL two\n");
  CHECK(all_settled({{"one", true}, {"two", true}}));
  CHECK_FALSE(all_settled({{"one", true}, {"two", false}}));
  CHECK_FALSE(all_settled({{"two", false}, {"one", true}}));
}

}  // namespace
}  // namespace reprobench
