#include "matrix/exec/subprocess.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

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

TEST_CASE("a subprocess deaf to TERM is killed after two seconds, and one in time is left alone", "[exec][process]") {
  const auto started = std::chrono::steady_clock::now();
  const auto deaf = run_subprocess(
      {.command = {"/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"}, .timeout = milliseconds(100)});
  const auto took = std::chrono::steady_clock::now() - started;
  CHECK(deaf.timed_out);
  CHECK(deaf.exit_code == 128 + SIGKILL);
  CHECK(took >= milliseconds(2'100));
  const auto in_time = run_subprocess({.command = {"/bin/sh", "-c", "sleep 0.3"}, .timeout = milliseconds(60'000)});
  CHECK_FALSE(in_time.timed_out);
  CHECK(in_time.exit_code == 0);
  CHECK(run_subprocess({.command = {"/bin/sh", "-c", "kill -ABRT $$"}}).exit_code == 128 + SIGABRT);
}

TEST_CASE("a subprocess is waited for after it closed its outputs, whom it leaves behind is not", "[exec][process]") {
  const auto closed = run_subprocess({.command = {"/bin/sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 5"}});
  CHECK(closed.exit_code == 5);
  const auto started = std::chrono::steady_clock::now();
  const auto left = run_subprocess({.command = {"/bin/sh", "-c", "echo before; sleep 20 & exit 6"}});
  CHECK(left.exit_code == 6);
  CHECK(left.out == "before\n");
  CHECK(std::chrono::steady_clock::now() - started < milliseconds(15'000));
}

TEST_CASE("a subprocess gets the folder and the variables it is told, and no descriptor but its outputs",
          "[exec][process]") {
  const std::map<std::string, std::string> variables = {{"ONE", "1"}, {"PATH", "/usr/bin:/bin"}};
  const auto told =
      run_subprocess({.command = {"/bin/sh", "-c", "pwd; env | grep -v -e ^PWD -e ^_ | sort; ls /proc/self/fd | wc -l"},
                      .environment = variables,
                      .working_directory = "/usr"});
  CHECK(told.out == "/usr\nONE=1\nPATH=/usr/bin:/bin\n4\n");  // 0 to 2, and the folder that ls reads
  const TemporaryVariable inherited("REPROBENCH_TEST_INHERITED", "yes");
  const auto untold =
      run_subprocess({.command = {"/bin/sh", "-c", "pwd; echo \"$REPROBENCH_TEST_INHERITED\" ${PATH:+found}"}});
  CHECK(untold.out == "/\n found\n");
  CHECK(inherited_environment().at("REPROBENCH_TEST_INHERITED") == "yes");
}

TEST_CASE("a subprocess begins with no signal held back or ignored", "[exec][process]") {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto previous = std::signal(SIGUSR2, SIG_IGN);
  const auto result = run_subprocess({.command = {"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}});
  std::signal(SIGUSR2, previous);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  unsigned long long held_back = 1;
  unsigned long long ignored = 1;
  REQUIRE(std::sscanf(result.out.c_str(), "SigBlk: %llx SigIgn: %llx", &held_back, &ignored) == 2);
  CHECK(held_back == 0);
  CHECK((ignored & ~0x180000000ull) == 0);  // 32 and 33 are the C library's own
}

TEST_CASE("output is handed on as it comes, all of it, and kept to the cap", "[exec][process]") {
  std::size_t handed_on = 0;
  const auto result = run_subprocess({.command = {"/bin/sh", "-c", "head -c 300000 /dev/zero; echo end >&2"},
                                      .on_output = [&](std::string_view chunk) { handed_on += chunk.size(); },
                                      .capture_bytes = 100'000});
  CHECK(handed_on == 300'004);
  CHECK(result.out == std::string(100'000, '\0'));
  CHECK(result.err == "end\n");
}

TEST_CASE("a subprocess under a shepherd gives its outputs and exit code all the same", "[exec][process]") {
  const std::string shepherd = std::string(REPROBENCH_BINARY_DIR) + "/reprobench-shepherd";
  const auto result =
      run_subprocess({.command = {"/bin/sh", "-c", "echo out; echo err >&2; exit 7"}, .shepherd = shepherd});
  CHECK(result.exit_code == 7);
  CHECK(result.out == "out\n");
  CHECK(result.err == "err\n");
}

TEST_CASE("the first program of PATH that may be run is taken", "[exec]") {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) std::filesystem::create_directory(folder.path / name);
  for (const char* name : {"b", "c"}) {
    const auto program = folder.path / name / "tool";
    std::ofstream(program).flush();
    chmod(program.c_str(), 0700);
  }
  std::ofstream(folder.path / "a" / "tool").flush();
  chmod((folder.path / "a" / "tool").c_str(), 0600);
  const std::string at = folder.path.string();
  const auto found_in = [](const std::string& path) {
    const TemporaryVariable searched("PATH", path);
    return find_in_path("tool");
  };
  CHECK(found_in(at + "/a:" + at + "/b:" + at + "/c") == at + "/b/tool");
  CHECK(found_in(at + "/c") == at + "/c/tool");
  CHECK(found_in(at + "/nowhere:" + at + "/c:" + at + "/b") == at + "/c/tool");
  CHECK(found_in(at + "/a").empty());
  const auto stood_in = std::filesystem::current_path();
  std::filesystem::current_path(folder.path / "b");  // where one stands is no place to find programs in
  for (const char* here : {".", "", ":", "../b", "./", "x::y"}) CHECK(found_in(here).empty());
  CHECK(found_in(".::" + at + "/c") == at + "/c/tool");
  std::filesystem::current_path(stood_in);
  CHECK(found_in("").empty());
  const TemporaryVariable none("PATH", std::nullopt);
  CHECK(find_in_path("tool").empty());
}

TEST_CASE("programs are found in PATH", "[exec]") {
  CHECK(output_has(find_in_path("sh"), "/sh"));
  CHECK(find_in_path("no-such-program-at-all").empty());
  CHECK(inherited_environment().at("PATH") == std::getenv("PATH"));
}

}  // namespace
}  // namespace reprobench
