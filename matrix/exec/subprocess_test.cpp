#include "matrix/exec/subprocess.hpp"

#include <csignal>
#include <cstdlib>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;

bool output_has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("a subprocess's outputs and exit code come back", "[exec][process]") {
  const auto result = run_subprocess({.command = {"/bin/sh", "-c", "echo out; echo err >&2; exit 7"}});
  CHECK(result.exit_code == 7);
  CHECK(result.out == "out\n");
  CHECK(result.err == "err\n");
  CHECK(result.launch_error.empty());
}

TEST_CASE("a subprocess over its time is stopped, with what it started", "[exec][process]") {
  const auto result =
      run_subprocess({.command = {"/bin/sh", "-c", "sleep 1000 & sleep 1000"}, .timeout = milliseconds(100)});
  CHECK(result.timed_out);
  CHECK(result.exit_code == 128 + SIGTERM);
}

TEST_CASE("a subprocess that does not exist says why, and its output is capped", "[exec][process]") {
  CHECK(run_subprocess({.command = {"/nowhere/at-all"}}).exit_code == 127);
  CHECK(output_has(run_subprocess({.command = {"/nowhere/at-all"}}).launch_error, "No such file"));
  const auto result = run_subprocess({.command = {"/bin/sh", "-c", "yes | head -c 100000"}, .capture_bytes = 1000});
  CHECK(result.out.size() == 1000);
  CHECK(result.exit_code == 0);
}

TEST_CASE("programs are found in PATH", "[exec]") {
  CHECK(output_has(find_in_path("sh"), "/sh"));
  CHECK(find_in_path("no-such-program-at-all").empty());
  CHECK(inherited_environment().at("PATH") == std::getenv("PATH"));
}

}  // namespace
}  // namespace reprobench
