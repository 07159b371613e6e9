// The report generator as a process: what it is told, and what is said when it fails or nothing can run it.
#include "matrix/cli/report_process.hpp"

#include <chrono>
#include <fstream>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/exec/python.hpp"

namespace reprobench {
namespace {

// A `python3` that has every module and runs `body` as the generator.
std::filesystem::path python(const SmallProject& project, const std::string& body) {
  return written_file(project / "bin/python3", "#!/bin/sh\n[ \"$3\" = -c ] && exit 0\n" + body, /*is_program=*/true);
}

TEST_CASE("the generator is isolated, is given the run and the project's reports, and writes no byte code", "[cli]") {
  const SmallProject project;
  const TemporaryVariable setting(
      "REPROBENCH_PYTHON",
      python(project, "echo \"$@\"; echo \"$PWD $PYTHONPATH $CANARY $LANG $REPROBENCH_SCHEMAS\"").string());
  const TemporaryVariable canary("CANARY", "passed on");
  const TemporaryVariable path("PYTHONPATH", "/elsewhere");
  const TemporaryVariable language("LANG", "C.UTF-8");
  const ReportOutcome report = write_reports(project.project(), "/the/run");
  CHECK(report.problem.empty());
  CHECK(report.paths == "-I -B " + (project.root() / "reports").string() + " /the/run\n/   C.UTF-8 " +
                            project.project().schemas().string() + "\n");
}

TEST_CASE("#41: a generator ends with its coordinator, even by SIGKILL", "[cli][process]") {
  const SmallProject project;
  const std::filesystem::path said = project / "pid";
  const TemporaryVariable setting("REPROBENCH_PYTHON",
                                  python(project, "echo $$ >'" + said.string() + "'\nexec sleep 100\n").string());
  const pid_t coordinator = fork();
  if (coordinator == 0) {
    write_reports(project.project(), "/the/run");
    _exit(0);
  }
  const auto comes_true = [](const auto& condition) {
    for (int i = 0; i < 200 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return condition();
  };
  pid_t generator = 0;
  REQUIRE(comes_true([&] { return (std::ifstream(said) >> generator) && generator > 0; }));
  CHECK(kill(generator, 0) == 0);
  kill(coordinator, SIGKILL);
  waitpid(coordinator, nullptr, 0);
  CHECK(comes_true([&] { return kill(generator, 0) != 0; }));
}

TEST_CASE("of a generator that fails the last line is said", "[cli]") {
  const SmallProject project;
  const auto problem_of = [&](const std::string& body) {
    const TemporaryVariable setting("REPROBENCH_PYTHON", python(project, "echo path; " + body).string());
    const ReportOutcome report = write_reports(project.project(), "/the/run");
    CHECK(report.paths.empty());
    return report.problem;
  };
  CHECK(problem_of("printf 'first\\nlast line\\n\\n' >&2; exit 3") == "the report generator ended with 3: last line");
  CHECK(problem_of("printf 'only' >&2; exit 1") == "the report generator ended with 1: only");
  CHECK(problem_of("printf '\\n' >&2; exit 1") == "the report generator ended with 1: ");
  CHECK(problem_of("exit 1") == "the report generator ended with 1: ");
}

TEST_CASE("python is the one that is named, else the first on PATH, that has the module", "[cli]") {
  const SmallProject project;
  const std::string named = python(project, "exit 0").string();
  const TemporaryVariable path("PATH", (project / "elsewhere").string());
  const std::string on_path =
      written_file(project / "elsewhere/python3", "#!/bin/sh\n[ \"$3 $4\" = '-c import only_here' ]\n", true).string();
  {
    const TemporaryVariable setting("REPROBENCH_PYTHON", named);
    CHECK(find_python_with("only_here") == named);
    CHECK(find_python_with("sys") == named);
  }
  const TemporaryVariable nothing("REPROBENCH_PYTHON", std::nullopt);
  CHECK(find_python_with("only_here") == on_path);
  CHECK(find_python_with("no_such_module").empty());
  if (std::filesystem::exists("/usr/bin/python3")) CHECK(find_python_with("sys") == "/usr/bin/python3");
}

TEST_CASE("where no python has jinja2 the remedy is named", "[cli]") {
  const SmallProject project;
  const TemporaryVariable path("PATH", (project / "elsewhere").string());
  const TemporaryVariable setting("REPROBENCH_PYTHON",
                                  written_file(project / "bin/python3", "#!/bin/sh\nexit 1\n", true).string());
  if (!find_python_with("jinja2").empty()) return;  // /usr/bin/python3 has it here
  const ReportOutcome report = write_reports(project.project(), "/the/run");
  CHECK(report.problem == "no python3 with jinja2 was found; install python3-jinja2, then `reprobench report`");
  CHECK(report.paths.empty());
}

}  // namespace
}  // namespace reprobench
