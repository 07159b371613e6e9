// `stack adopt` on a PyTorch in miniature: what it says, what it writes, and what it refuses.
#include "matrix/cli/verbs/stack_adopt.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/provision/environment_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

struct Adoption {
  SmallProject project;
  test::FakeEnvironment environment;
  TemporaryVariable no_compiler{"CXX", "/no/compiler"};
  TemporaryVariable no_library_path{"LD_LIBRARY_PATH", std::nullopt};
  TemporaryVariable no_environment{"VIRTUAL_ENV", std::nullopt};

  // What was said until it ended, and how: with a code or a problem.
  struct Told {
    std::string out;
    std::string err;
    std::string problem;
    ExitCode code = ExitCode::internal_bug;
  };
  Told adopt(Texts words) const {
    words.insert(words.begin(), "adopt");
    const Caught out(STDOUT_FILENO);
    const Caught err(STDERR_FILENO);
    Told told;
    try {
      const Said said = said_by(&declare_stack, project.store(), words);
      return {said.out, said.err, "", said.code};
    } catch (const std::exception& error) {
      told.problem = error.what();
    }
    return told;
  }
  fs::path file(const std::string& name) const { return project.root() / "matrix/stacks" / (name + ".yaml"); }
  std::string prefix() const { return environment.root().string(); }
};

const char* const kNoCompiler = "no C++ compiler was found to build the worker; install g++ or set CXX";

Capability adopted_capability(const std::string& torch = "9.8.7") {
  Capability capability = small_capability(torch);
  capability.fingerprint.components = {{"torch", torch, torch, "libtorch_cpu.so"}};
  return capability;
}

TEST_CASE("what is adopted is written as a stack, built, and shown as it loads", "[cli][process]") {
  const Adoption adoption;
  CHECK(adoption.adopt({"--prefix", adoption.prefix()}).problem == kNoCompiler);
  const std::string text = read_file(adoption.file("here"));
  const StackSpec spec = adoption.project.project().stacks().at("here");
  CHECK(spec.is_adopted());
  CHECK(spec.components.at("torch") == "9.8.7+cu128");
  adoption.project.install("here", adopted_capability());
  const Adoption::Told told = adoption.adopt({"--prefix", adoption.prefix()});
  CHECK(told.problem.empty());
  CHECK(told.code == ExitCode::passed);
  CHECK(told.err == "next: reprobench --store " + adoption.project.store().string() +
                        " run --matrix matrix/here.yaml [--reference STACK]\n");
  CHECK_THAT(told.out, Catch::StartsWith("here: ") && Contains("torch 9.8.7+cu128"));
  CHECK_THAT(told.out, Contains(" in " + adoption.environment.torch().string() + "/lib, C++ ABI 1\n"));
  CHECK_THAT(told.out, Contains("\n  libtorch_cpu.so                              " +
                                adoption.environment.torch().string() + "/lib\n"));
  CHECK_THAT(told.out, Catch::Matches("[\\s\\S]*\n  identity [0-9a-f]{12}, [1-9][0-9]* libraries; [\\s\\S]*"));
  CHECK_THAT(told.out, Contains(" libraries; " + adoption.file("here").string() + " written, "));
  CHECK_THAT(told.out, Contains("\n  BLAS mkl, CPU capability AVX2, C++ ABI 1, worker built by g++ 12\n"));
  CHECK(read_file(adoption.file("here")) == text);
}

TEST_CASE("a stack of another name has no matrix to be told of", "[cli][process]") {
  const Adoption adoption;
  CHECK_THAT(adoption.adopt({"mine", "--prefix", adoption.prefix()}).problem, Catch::StartsWith("no C++ compiler"));
  CHECK_FALSE(fs::exists(adoption.file("here")));
  adoption.project.install("mine", adopted_capability());
  const Adoption::Told told = adoption.adopt({"mine", "--prefix", adoption.prefix()});
  CHECK(told.code == ExitCode::passed);
  CHECK(told.err.empty());
}

TEST_CASE("a worker that loads something else than was found fails", "[cli][process]") {
  const Adoption adoption;
  adoption.adopt({"--prefix", adoption.prefix()});
  adoption.project.install("here", adopted_capability("9.7.0"));
  const Adoption::Told told = adoption.adopt({"--prefix", adoption.prefix()});
  CHECK(told.code == ExitCode::failed);
  CHECK(told.err.empty());
  CHECK_THAT(told.out, Contains("here: "));
}

TEST_CASE("PyTorch is looked for below a prefix, in a folder of it, or where Python has it", "[cli][process]") {
  const Adoption adoption;
  CHECK(adoption.adopt({"--libtorch", adoption.environment.torch().string()}).problem == kNoCompiler);
  const std::string of_folder = read_file(adoption.file("here"));
  CHECK(adoption.adopt({"--prefix", adoption.prefix()}).problem == kNoCompiler);
  CHECK_THAT(adoption.adopt({"--prefix", (adoption.project / "none").string()}).problem, !Contains("no C++ compiler"));
  CHECK_THAT(adoption.adopt({"--python", "/no/python"}).problem, Contains("/no/python"));
  {
    const TemporaryVariable active("VIRTUAL_ENV", "/no/environment");
    CHECK_THAT(adoption.adopt({}).problem, Contains("/no/environment/bin/python3"));
  }
  const TemporaryVariable path("PATH", (adoption.project / "none").string());
  CHECK_THAT(adoption.adopt({}).problem, Contains("python3") && !Contains("/no/"));
}

TEST_CASE("a shipped stack is not overwritten, an adopted one is", "[cli][process]") {
  const Adoption adoption;
  const std::string problem = adoption.adopt({"new", "--prefix", adoption.prefix()}).problem;
  CHECK_THAT(problem, Catch::StartsWith("the stack new is described by ") &&
                          Catch::EndsWith("root/matrix/stacks/new.yaml, which was not adopted; choose another name"));
  CHECK(read_file(adoption.file("new")) == small_stack("new", "2.9.0"));
  adoption.adopt({"--prefix", adoption.prefix()});
  const std::string before = read_file(adoption.file("here"));
  fs::remove(adoption.environment.nvidia() / "cudnn/lib/libcudnn_ops.so.9");
  adoption.adopt({"--prefix", adoption.prefix()});
  CHECK(read_file(adoption.file("here")) != before);
}

TEST_CASE("an environment of which no stack can be made is refused with all that is wrong, and nothing is written",
          "[cli][process]") {
  const Adoption adoption;
  fs::remove(adoption.environment.torch() / "lib/libc10.so");
  const Adoption::Told told = adoption.adopt({"--prefix", adoption.prefix()});
  CHECK_THAT(told.problem, Contains(adoption.environment.torch().string() + "/lib is not adopted: "));
  CHECK_FALSE(fs::exists(adoption.file("here")));
}

TEST_CASE("a stack file that cannot be written is said", "[cli][process]") {
  const Adoption adoption;
  fs::create_directories(adoption.file("here"));  // a folder where the file should be
  CHECK_THAT(adoption.adopt({"--prefix", adoption.prefix()}).problem, Contains("here.yaml"));
}

TEST_CASE("a library that the environment lacks is looked for on LD_LIBRARY_PATH, where that names whole paths",
          "[cli][process]") {
  const Adoption adoption;
  const fs::path moved = adoption.project / "moved";
  fs::create_directories(moved);
  fs::rename(adoption.environment.torch() / "lib/libc10.so", moved / "libc10.so");
  const std::string there = "libc10.so would be taken from another PyTorch, " + (moved / "libc10.so").string();
  const auto problem = [&] { return adoption.adopt({"--prefix", adoption.prefix()}).problem; };
  CHECK_THAT(problem(), Contains("is not adopted") && !Contains(there));
  const TemporaryVariable path("LD_LIBRARY_PATH", "relative:" + moved.string());
  CHECK_THAT(problem(), Contains(there));
}

}  // namespace
}  // namespace reprobench
