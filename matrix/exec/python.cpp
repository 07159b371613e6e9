#include "matrix/exec/python.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "matrix/exec/helper_environment.hpp"

namespace reprobench {
namespace {

constexpr std::chrono::seconds kImportTimeout{30};

// A Python of one's own may be a script that chooses among several, or need libraries of a folder of its own.
constexpr std::array<std::string_view, 2> kOfInterpreters = {"LD_LIBRARY_PATH", "PYENV_*"};

}  // namespace

std::vector<std::string> python_candidates() {
  std::vector<std::string> candidates;
  if (const char* const chosen = std::getenv("REPROBENCH_PYTHON"); chosen != nullptr && *chosen != '\0') {
    const std::string found = std::string_view(chosen).find('/') == std::string_view::npos ? find_in_path(chosen) : "";
    candidates.push_back(found.empty() ? std::filesystem::absolute(chosen).string() : found);
  }
  if (const std::string found = find_in_path("python3"); !found.empty()) candidates.push_back(found);
  candidates.emplace_back("/usr/bin/python3");
  return candidates;
}

std::string find_python_with(const std::string& module) {
  for (const std::string& candidate : python_candidates()) {
    SubprocessOptions probe = isolated_python(candidate, {"-c", "import " + module});
    probe.timeout = kImportTimeout;
    if (run_subprocess(probe).exit_code == 0) return candidate;
  }
  return "";
}

SubprocessOptions isolated_python(const std::string& interpreter, const std::vector<std::string>& arguments) {
  SubprocessOptions options;
  options.command = {interpreter, "-I", "-B"};  // -B: it leaves no byte code beside what it runs
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.environment = helper_environment(kOfInterpreters);
  return options;
}

}  // namespace reprobench
