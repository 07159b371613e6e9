// Which command runs a stack's cells: one that was given, or the worker that is installed.
#include "matrix/cli/worker_commands.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a worker is given as a stack and a command of words", "[cli]") {
  const auto workers = given_workers({"new=/bin/worker --do  ok", "old=tool", "new=/bin/other"});
  REQUIRE(workers.size() == 2);
  CHECK(workers.at("new").command == std::vector<std::string>{"/bin/other"});
  CHECK(workers.at("new").arguments.empty());
  CHECK(workers.at("old").command == std::vector<std::string>{(fs::current_path() / "tool").string()});
  CHECK(given_workers({"a=/b --c=d  e"}).at("a").arguments == std::vector<std::string>{"--c=d", "e"});
  CHECK(given_workers({}).empty());
  for (const char* wrong : {"new", "new=", "new=  ", ""}) {
    CHECK_THROWS_WITH(given_workers({wrong}), std::string("--worker takes STACK=COMMAND, got ") + wrong);
  }
}

TEST_CASE("an installed stack is run by its worker, with the project's data", "[cli]") {
  const SmallProject project;
  const InstalledStack stack = project.install("new", small_capability());
  const auto workers = worker_commands({"new"}, project.project(), {});
  REQUIRE(workers.size() == 1);
  CHECK(workers.at("new").command == std::vector<std::string>{stack.worker.string()});
  CHECK(workers.at("new").arguments == std::vector<std::string>{"--data", (project.root() / "models/data").string()});
  CHECK(workers.at("new").environment.empty());
  CHECK(workers.at("new").kept_answers == stack.worker.parent_path());
  const fs::path library = stack.folder / "site/torch/lib/libtorch_cpu.so";
  written_file(stack.folder / "site/torch/lib/libstdc++.so.6", "the host's");
  std::vector<fs::path> mapped = {library, stack.worker};
  std::ranges::sort(mapped);
  CHECK(worker_commands({"new"}, project.project(), {}).at("new").mapped == mapped);
  // A command that was given may be another one tomorrow.
  CHECK(worker_commands({"new"}, project.project(), given_workers({"new=/bin/a"})).at("new").kept_answers.empty());
}

TEST_CASE("a given worker stands for an installed one, and for one that is not", "[cli]") {
  const SmallProject project;
  project.install("new", small_capability());
  const auto workers = worker_commands({"new", "old", "nobody"}, project.project(),
                                       given_workers({"new=/bin/a", "old=/bin/b", "nobody=/bin/c"}));
  CHECK(workers.size() == 3);
  CHECK(workers.at("new").command == std::vector<std::string>{"/bin/a"});
}

TEST_CASE("stacks that are not installed are named together, with the command that installs them", "[cli]") {
  const SmallProject project;
  CHECK_THROWS_WITH(worker_commands({"new", "old"}, project.project(), {}),
                    "not installed, or not built for these worker sources: new old\n"
                    "            run: reprobench stack install new old");
  project.install("old", small_capability());
  project.install("new", small_capability(), /*with_worker=*/false);
  CHECK_THROWS_WITH(worker_commands({"new", "old"}, project.project(), {}), Catch::Contains("worker sources: new\n"));
  const auto some = installed_worker_commands({"new", "old"}, project.project(), {});
  CHECK(some.size() == 1);
  CHECK(some.contains("old"));
}

TEST_CASE("a stack whose library was changed is refused by the library's name, with what mends it", "[cli]") {
  const SmallProject project;
  const InstalledStack stack = project.install("new", small_capability());
  const auto installed = installed_libraries({"new", "old"}, project.project());
  REQUIRE(installed.size() == 1);
  CHECK(installed.at("new").libraries.at(0).path == "site/torch/lib/libtorch_cpu.so");
  written_file(stack.folder / "site/torch/lib/libtorch_cpu.so", "torch of another");
  CHECK_THROWS_WITH(worker_commands({"new"}, project.project(), {}),
                    Catch::Contains("new is not what was installed: " + stack.folder.string() +
                                    "/site/torch/lib/libtorch_cpu.so: SHA-256 is ") &&
                        Catch::Contains("run: reprobench stack remove new && reprobench stack install new"));
  CHECK(worker_commands({"new"}, project.project(), given_workers({"new=/bin/a"})).size() == 1);
}

TEST_CASE("#40: a worker that is not the one that was built is refused, and counts as not built without its digest",
          "[cli]") {
  const SmallProject project;
  const InstalledStack stack = project.install("new", small_capability());
  CHECK(worker_commands({"new"}, project.project(), {}).size() == 1);
  written_file(stack.worker, "#!/bin/sh\n", /*is_program=*/true);
  CHECK_THROWS_WITH(worker_commands({"new"}, project.project(), {}),
                    Catch::Contains("new is not what was installed: " + stack.worker.string() + ": SHA-256 is ") &&
                        Catch::Contains("when built"));
  std::filesystem::remove(stack.worker.string() + ".sha256");
  CHECK_THROWS_WITH(worker_commands({"new"}, project.project(), {}), Catch::Contains("not installed, or not built"));
}

TEST_CASE("a store that was moved is refused with the place that its workers are of", "[cli]") {
  const SmallProject project;
  const InstalledStack stack = project.install("new", small_capability());
  const std::string link = fmt::format(
      "c++ -shared -nostdlib -x c /dev/null -o '{}' -Wl,-rpath,/old/new-0/site/torch/lib", stack.worker.string());
  REQUIRE(std::system(link.c_str()) == 0);
  CHECK_THROWS_WITH(worker_commands({"new"}, project.project(), {}),
                    Catch::Contains("the worker of new is linked for /old/new-0, and lies in " + stack.folder.string() +
                                    "\n            run: reprobench stack install new"));
}

TEST_CASE("a stack that nobody knows, or whose file cannot be read, is refused by both", "[cli]") {
  const SmallProject project;
  project.add_stack("bad", "schema: 1\nname: [\n");
  for (const auto commands : {&worker_commands, &installed_worker_commands}) {
    CHECK_THROWS_WITH(commands({"nwe"}, project.project(), {}), Catch::Contains("no stack `nwe`; did you mean `new`?"));
    CHECK_THROWS_AS(commands({"bad"}, project.project(), {}), SpecError);
  }
}

TEST_CASE("#41: a worker of a stack that nobody knows is refused, with the nearest name", "[cli]") {
  const SmallProject project;
  require_known_stacks(given_workers({"new=/bin/a", "old=/bin/b"}), project.project());
  CHECK_THROWS_WITH(require_known_stacks(given_workers({"nwe=/bin/a"}), project.project()),
                    "--worker nwe: there is no stack `nwe`; did you mean `new`?");
}

}  // namespace
}  // namespace reprobench
