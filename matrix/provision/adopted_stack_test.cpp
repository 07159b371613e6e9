#include "matrix/provision/adopted_stack.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/environment_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;
using Catch::Matchers::StartsWith;

namespace {

StackSpec adopt(const FakeEnvironment& environment) {
  return parse_stack(adopted_stack_file("mine", environment.place(), environment.survey()), "mine.yaml");
}

void link_runtime(const FakeEnvironment& environment, const std::string& build_id) {
  link_library(environment.nvidia() / "cuda_runtime/lib/libcudart.so.12", {"libcudart.so.12", {}, "", false, build_id});
}

}  // namespace

TEST_CASE("the file of an adopted stack holds what was found, and the same environment gives the same file",
          "[provision]") {
  const FakeEnvironment environment;
  const EnvironmentSurvey survey = environment.survey();
  const StackSpec spec = adopt(environment);
  CHECK(spec.name == "mine");
  CHECK(spec.source == StackSource::system);
  CHECK(spec.is_adopted());
  CHECK(spec.components == survey.components);
  CHECK(spec.libraries == survey.libraries);
  CHECK(spec.include_dirs == survey.include_dirs);
  CHECK(spec.library_dirs == survey.library_dirs);
  CHECK(spec.cxx11_abi == 1);
  CHECK(adopt(environment).text == spec.text);
  CHECK(adopted_stack_file("mine", torch_below(environment.root()), survey) == spec.text);
}

TEST_CASE("an adopted stack is there as long as its environment is what it was", "[provision]") {
  const FakeEnvironment environment;
  const StackSpec spec = adopt(environment);
  CHECK(find_adopted_problem(spec).empty());
  link_runtime(environment, "0x000d");
  CHECK(find_adopted_problem(spec) ==
        "libcudart.so.12 is another one now: its build is 000d and was 000c when adopted; "
        "`reprobench stack adopt` takes the change in");
  link_runtime(environment, "0x000c");
  CHECK(find_adopted_problem(spec).empty());

  write_file(environment.torch() / "version.py", "__version__ = '9.8.8'\n");
  CHECK_THAT(find_adopted_problem(spec), StartsWith("its torch is 9.8.8 now and was 9.8.7+cu128 when adopted; "));
  write_file(environment.torch() / "version.py", "__version__ = '9.8.7+cu128'\n");

  std::filesystem::remove(environment.torch() / "lib/libtorch_cuda.so");
  CHECK_THAT(find_adopted_problem(spec), StartsWith("libcudnn.so.9 is gone; "));
  std::filesystem::remove_all(environment.torch());
  CHECK(find_adopted_problem(spec) == "no libtorch_cpu.so in " + (environment.torch() / "lib").string() + " any more");
}

TEST_CASE("a part that has come to an adopted environment is a change", "[provision]") {
  const FakeEnvironment environment;
  std::filesystem::rename(environment.nvidia() / "cudnn", environment.root() / "later");
  const StackSpec spec = adopt(environment);
  CHECK(spec.components.count("cuda") == 0);
  std::filesystem::rename(environment.root() / "later", environment.nvidia() / "cudnn");
  CHECK_THAT(find_adopted_problem(spec), StartsWith("libcudnn.so.9 has come; "));
}
