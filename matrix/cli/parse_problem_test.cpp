#include "matrix/cli/parse_problem.hpp"

#include <algorithm>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

// A program with a verb of each sort: options and an argument, parts, nothing.
struct SmallProgram {
  SmallProgram() {
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("--store", text, "Folder of runs");
    CLI::App* run = app.add_subcommand("run", "");
    run->add_option("--matrix", text, "Matrix file")->type_name("FILE")->required();
    run->add_option("-j,--jobs", jobs, "Cells at a time")->check(CLI::Range(1, 1024));
    run->add_option("--share", share, "Of the cores")->check(CLI::Range(0.0, 0.5));
    run->add_option("--seed", seed, "Any number")->check(CLI::NonNegativeNumber);
    run->add_flag("--quick", is_quick, "Less of it");
    CLI::App* list = app.add_subcommand("list", "");
    list->add_option("kind", text, "What to list")->type_name("stacks|runs")->required();
    CLI::App* hold = app.add_subcommand("hold", "");
    hold->add_option("--one", text, "One side")->required();
    hold->add_option("--other", other, "The other side")->required();
    CLI::App* stack = app.add_subcommand("stack", "");
    stack->require_subcommand(1);
    stack->add_subcommand("install", "");
    stack->add_subcommand("adopt", "")->add_option("--python", text, "Whose PyTorch");
    app.add_subcommand("doctor", "");
  }

  // Empty if all is well.
  std::string problem(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      return parse_problem(app, error);
    }
    return "";
  }

  CLI::App app{"", "reprobench"};
  std::string text;
  std::string other;
  int jobs = 1;
  double share = 0;
  int seed = 0;
  bool is_quick = false;
};

std::string problem_with(const std::vector<std::string>& words) { return SmallProgram().problem(words); }

TEST_CASE("a mistyped verb is told its nearest, and where all are listed", "[cli]") {
  CHECK(problem_with({"rnu"}) == "there is no verb `rnu`; did you mean `run`? See `reprobench --help`");
  CHECK(problem_with({"quux"}) ==
        "there is no verb `quux`; there are run, list, hold, stack, doctor; see `reprobench --help`");
  CHECK(problem_with({}) == "name a verb, such as `reprobench run`; see `reprobench --help`");
}

TEST_CASE("a verb of several commands says which it has, and which one was nearly typed", "[cli]") {
  CHECK(problem_with({"stack"}) == "stack needs one of install, adopt; see `reprobench stack --help`");
  CHECK(problem_with({"stack", "instal"}) ==
        "there is no stack command `instal`; did you mean `install`? See `reprobench stack --help`");
}

TEST_CASE("a mistyped option is told those of its own command, with every verb's", "[cli]") {
  CHECK(problem_with({"run", "--matrx", "x"}) ==
        "there is no option of run `--matrx`; did you mean `--matrix`? See `reprobench run --help`");
  CHECK(problem_with({"run", "--matrx=x"}) == problem_with({"run", "--matrx", "x"}));
  CHECK(problem_with({"stack", "adopt", "--zzzzzzz", "x"}) ==
        "there is no option of stack adopt `--zzzzzzz`; there are --help, --python, --store; see `reprobench stack "
        "adopt --help`");
  CHECK(problem_with({"doctor", "-x"}) ==
        "there is no option of doctor `-x`; there are --help, --store; see `reprobench doctor --help`");
  CHECK(problem_with({"--stor", "x", "doctor"}).starts_with("there is no "));
}

TEST_CASE("what is missing is named with what it is", "[cli]") {
  CHECK(problem_with({"run"}) == "run needs `--matrix`: Matrix file; see `reprobench run --help`");
  CHECK(problem_with({"list"}) == "list needs `kind`: stacks|runs; see `reprobench list --help`");
  CHECK(problem_with({"hold"}) == "hold needs `--one` and `--other`; see `reprobench hold --help`");
  CHECK(problem_with({"hold", "--one", "x"}) == "hold needs `--other`: The other side; see `reprobench hold --help`");
}

TEST_CASE("an argument too many and a value of the wrong kind name the help of their verb", "[cli]") {
  CHECK(problem_with({"doctor", "foo"}) ==
        "doctor takes no further argument, got `foo`; see `reprobench doctor --help`");
  CHECK(problem_with({"run", "--matrix", "m", "--jobs", "many"}).ends_with("; see `reprobench run --help`"));
  CHECK(problem_with({"run", "--matrix", "m"}).empty());
}

TEST_CASE("a value out of its range is told the range in plain numbers", "[cli]") {
  const auto problem = [](const std::string& option, const std::string& value) {
    const std::string said = problem_with({"run", "--matrix", "m.yaml", option, value});
    return said.substr(0, said.find(';'));
  };
  CHECK(problem("-j", "0") == "--jobs takes a whole number from 1 to 1024, not `0`");
  CHECK(problem("--jobs", "abc") == "--jobs takes a whole number from 1 to 1024, not `abc`");
  CHECK(problem("--share", "0.75") == "--share takes a number from 0 to 0.5, not `0.75`");
  CHECK(problem("--seed", "-1") == "--seed takes a whole number from 0 on, not `-1`");
  CHECK(problem_with({"run", "--matrix", "m.yaml", "--quick=maybe"}) ==
        "--quick does not take `maybe`; see `reprobench run --help`");
  CHECK(problem_with({"run", "--matrix", "m.yaml", "--jobs"}) == "--jobs needs a value; see `reprobench run --help`");
}

}  // namespace
}  // namespace reprobench
