// What a Python that is started here runs beside what it was told: nothing that lies where one stands.
#include "matrix/exec/python.hpp"

#include <filesystem>
#include <fstream>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/exec/helper_environment.hpp"

namespace reprobench {
namespace {

// Stands in a folder that has a module of every name a Python of ours imports, each of which says that it ran; the
// variables that would lead there lead there.
class PlantedModules {
 public:
  PlantedModules() : stood_in_(std::filesystem::current_path()) {
    for (const char* name :
         {"argparse", "csv", "importlib", "jinja2", "json", "markupsafe", "math", "os", "pathlib", "pip", "re",
          "reprobench_report", "site", "sitecustomize", "tempfile", "typing", "usercustomize"}) {
      std::ofstream(folder_.path / (std::string(name) + ".py"))
          << "open('" << canary().string() << "', 'a').write('" << name << "')\n";
    }
    std::filesystem::current_path(folder_.path);
  }
  ~PlantedModules() { std::filesystem::current_path(stood_in_); }
  std::filesystem::path canary() const { return folder_.path / "ran"; }

 private:
  TemporaryFolder folder_;
  TemporaryVariable path_{"PYTHONPATH", folder_.path};
  TemporaryVariable startup_{"PYTHONSTARTUP", folder_.path / "json.py"};
  std::filesystem::path stood_in_;
};

TEST_CASE("#41: no module that lies where one stands is imported by a Python of ours", "[exec][process]") {
  const PlantedModules planted;
  CHECK(find_python_with("reprobench_report").empty());
  for (const char* module : {"json", "pip", "jinja2", "argparse"}) find_python_with(module);
  const std::string python = find_python_with("sys");
  REQUIRE_FALSE(python.empty());
  const auto result =
      run_subprocess(isolated_python(python, {"-c", "import json, argparse, typing, re; print('ran')"}));
  CHECK(result.out == "ran\n");
  run_subprocess(isolated_python(python, {"-m", "pip", "--version"}));
  CHECK_FALSE(std::filesystem::exists(planted.canary()));
}

TEST_CASE("a Python is started by an absolute path, whatever names it", "[exec]") {
  const TemporaryVariable relative("REPROBENCH_PYTHON", "venv/bin/python");
  CHECK(python_candidates().front() == std::filesystem::current_path() / "venv/bin/python");
  const TemporaryVariable by_name("REPROBENCH_PYTHON", "sh");
  CHECK(python_candidates().front() == find_in_path("sh"));
  const TemporaryVariable none("REPROBENCH_PYTHON", std::nullopt);
  CHECK(python_candidates().back() == "/usr/bin/python3");
}

TEST_CASE("a helper's environment is what is on the list, and no more", "[exec]") {
  const TemporaryVariable token("REPROBENCH_TEST_TOKEN", "secret");
  const TemporaryVariable locale("LC_TEST", "C");
  const auto usual = helper_environment();
  CHECK(usual.contains("PATH"));
  CHECK(usual.contains("LC_TEST"));
  CHECK_FALSE(usual.contains("REPROBENCH_TEST_TOKEN"));
  CHECK_FALSE(usual.contains("LD_PRELOAD"));
  constexpr std::string_view kMore[] = {"REPROBENCH_TEST_*", "LC"};
  CHECK(helper_environment(kMore).at("REPROBENCH_TEST_TOKEN") == "secret");
}

}  // namespace
}  // namespace reprobench
