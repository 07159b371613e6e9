// Where the project's files are found, and what is known from them.
#include "matrix/cli/project.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

// The current folder for a while.
class Inside {
 public:
  explicit Inside(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~Inside() { fs::current_path(before_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  fs::path before_;
};

TEST_CASE("the project is what REPROBENCH_ROOT names, and else what lies above the program", "[cli]") {
  const SmallProject small;
  CHECK(small.project().root() == small.root());
  {
    const Inside inside(small / "");
    const TemporaryVariable relative("REPROBENCH_ROOT", "root");
    CHECK(Project("s").root() == small.root());
    CHECK(Project("s").store() == small / "s");
  }
  const TemporaryVariable wrong("REPROBENCH_ROOT", (small / "").string());
  CHECK_THROWS_WITH(Project("s"), "REPROBENCH_ROOT is " + (small / "").string() + ", which holds no matrix/stacks");
  for (const char* half : {"matrix/stacks", "suites/definitions"}) {
    const fs::path only = small / (std::string("half-") + half[0]);
    fs::create_directories(only / half);
    const TemporaryVariable setting("REPROBENCH_ROOT", only.string());
    CHECK_THROWS_WITH(Project("s"), Contains("which holds no matrix/stacks"));
  }
  for (const std::optional<std::string>& none : {std::optional<std::string>(), std::optional<std::string>("")}) {
    const TemporaryVariable setting("REPROBENCH_ROOT", none);
    CHECK(Project("s").root() == REPROBENCH_SOURCE_ROOT);
  }
}

TEST_CASE("a matrix of another checkout is read only if REPROBENCH_ROOT says which suites are meant", "[cli]") {
  const SmallProject small;
  const std::string theirs = small.matrix();
  REQUIRE(theirs.starts_with(small.root().string()) == false);
  const std::string inside = written_file(small.root() / "matrix/m.yaml", read_file(theirs));
  const auto names = [](const Project& project, const std::string& file) {
    return project.matrix(file, project.vocabulary()).name;
  };
  CHECK(names(small.project(), inside) == names(small.project(), theirs));
  const TemporaryVariable unset("REPROBENCH_ROOT", std::nullopt);
  const Project ours("s");
  CHECK_THROWS_WITH(names(ours, inside), inside + " lies in the project " + small.root().string() +
                                             ", and this program reads the suites of " +
                                             REPROBENCH_SOURCE_ROOT "; set REPROBENCH_ROOT to the one that is meant");
  CHECK(names(ours, REPROBENCH_SOURCE_ROOT "/matrix/smoke.yaml") == "smoke");
  CHECK_THROWS_WITH(names(ours, inside + "x"), Contains("cannot be read: No such file or directory"));
  CHECK_NOTHROW(names(ours, theirs));  // one that lies in no project
}

TEST_CASE("stacks lie in the store, or where REPROBENCH_STACKS says", "[cli]") {
  const SmallProject small;
  CHECK(small.project().stacks_home() == small.store() / "stacks");
  {
    const TemporaryVariable setting("REPROBENCH_STACKS", "/elsewhere");
    CHECK(small.project().stacks_home() == "/elsewhere");
  }
  const TemporaryVariable empty("REPROBENCH_STACKS", "");
  CHECK(small.project().stacks_home() == small.store() / "stacks");
  CHECK(small.project().data() == small.root() / "models/data");
  CHECK(small.project().shepherd().filename() == "reprobench-shepherd");
}

TEST_CASE("the words of a matrix are the models with code, the stacks with files and the presets of installed workers",
          "[cli]") {
  const SmallProject small;
  written_file(small.root() / "models/README.md", "");
  small.add_stack("bad", "schema: [");
  CHECK(small.project().vocabulary().models == std::vector<std::string>{"gpt2", "mlp"});
  CHECK(small.project().vocabulary().stacks == std::vector<std::string>{"new", "old", "bad"});
  CHECK(small.project().vocabulary().presets.empty());
  small.install("new", small_capability());
  Capability more = small_capability();
  more.workloads = {{"mlp", "", {{"wide", 1, 1}, {"huge", 1, 1}}}, {"gpt2", "", {{"tiny", 1, 1}}}};
  small.install("old", more);
  const auto presets = small.project().vocabulary().presets;
  CHECK(presets.size() == 2);
  CHECK(presets.at("mlp") == std::vector<std::string>{"base", "wide", "huge"});
  CHECK(presets.at("gpt2") == std::vector<std::string>{"tiny"});
}

TEST_CASE("suites are the YAML files of their folder, and what is wrong with any of them is said of all", "[cli]") {
  const SmallProject small;
  written_file(small.root() / "suites/definitions/notes.txt", "not a suite");
  const auto suites = small.project().suites();
  REQUIRE(suites.size() == 1);
  CHECK(suites.at("short").repeat == 2);
  small.add_suite("bad", "schema: 1\nname: bad\nnonsense: 1\n");
  small.add_suite("worse", "schema: 1\nname: worse\nrubbish: 1\n");
  CHECK_THROWS_WITH(small.project().suites(), Contains("nonsense") && Contains("rubbish"));
}

TEST_CASE("files are named as one would type them from the folder one is in", "[cli]") {
  const SmallProject small;
  const auto origin = [&] { return small.project().suites().at("short").thresholds.at(0).mark.file; };
  const auto stack_file = [&] { return small.project().stacks().at("new").mark.file; };
  {
    const Inside inside(small.root());
    CHECK(origin() == "suites/definitions/short.yaml");
    CHECK(stack_file() == "matrix/stacks/new.yaml");
  }
  {
    const Inside inside(small.root() / "suites");
    CHECK(origin() == "definitions/short.yaml");
  }
  const Inside inside(small.root() / "models");
  CHECK(origin() == (small.root() / "suites/definitions/short.yaml").string());
}

TEST_CASE("the catalog says of every stack whether it is installed and which knobs its worker has", "[cli]") {
  const SmallProject small;
  small.install("new", small_capability());
  small.install("old", small_capability(), /*with_worker=*/false);
  small.add_stack("bad", "schema: [");
  const StackCatalog catalog = small.project().catalog();
  CHECK(catalog.stacks.size() == 2);
  CHECK(catalog.broken.contains("bad"));
  CHECK(catalog.availability.at("new").installed);
  CHECK(catalog.availability.at("new").problem.empty());
  CHECK(catalog.availability.at("new").knobs.size() == knobs().size());
  CHECK_FALSE(catalog.availability.at("old").installed);
  CHECK(catalog.availability.at("old").knobs.empty());
}

}  // namespace
}  // namespace reprobench
