// What happens to the built binary as a process: signals, full disks, closed descriptors, a store that somebody holds.
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST_CASE("a store that cannot be made ends with 5 before anything is launched", "[e2e]") {
  const Workplace place;
  std::ofstream(place / "store") << "a file where a folder should be";
  CHECK(call(place.run_command("smoke", "ok")).exit_code == 5);
}

TEST_CASE("#41: an argument that is not UTF-8 is a usage error, and is shown without its bytes", "[e2e]") {
  const auto result = call({REPROBENCH_BINARY_DIR "/reprobench", "plan", "--matrix", "m\xff.yaml"});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, Catch::Contains("argument 3 is not UTF-8: m?.yaml"));
}

TEST_CASE("#41: a store that can only be read is listed, compared and reported elsewhere", "[e2e]") {
  const Workplace place;
  REQUIRE(call(place.run_command("smoke", "ok")).exit_code == 0);
  const std::string store = (place / "store").string();
  const auto in_mount = [&](const std::string& command) {
    const std::string script = "mount --bind '" + store + "' '" + store + "' && mount -o remount,ro,bind '" + store +
                               "' || exit 99; exec " REPROBENCH_BINARY_DIR "/reprobench --store '" + store + "' " +
                               command;
    return call({"/usr/bin/unshare", "--mount", "/bin/sh", "-c", script});
  };
  const auto listed = in_mount("list runs");
  if (listed.exit_code == 1 || listed.exit_code == 99 || listed.exit_code == 127) {
    WARN("no mount of one's own can be made here");
    return;
  }
  const std::string run = place.run_folder().filename();
  CHECK(listed.exit_code == 0);
  CHECK_THAT(listed.out, Catch::Contains(run));
  CHECK_THAT(in_mount("compare " + run).err, Catch::Contains("can only be read"));
  CHECK(in_mount("report --to '" + (place / "reports").string() + "'").exit_code == 0);
  CHECK(fs::exists(place / "reports/report.html"));
}

TEST_CASE("output to a pipe has no escape sequences", "[e2e]") {
  const Workplace place;
  const auto result = call(place.run_command("smoke", "crash=11"));
  CHECK((result.out + result.err).find('\x1b') == std::string::npos);
}

// Starts the command with its stdout closed, sends a signal once the run directory is there and returns the exit
// status.
int interrupted_with(int signal_number, const std::vector<std::string>& command, const fs::path& runs,
                     const char* output = "/dev/null") {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(open(output, O_WRONLY), STDOUT_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  const auto worker_started = [&] {
    if (!fs::exists(runs)) return false;
    for (const auto& entry : fs::recursive_directory_iterator(runs)) {
      if (entry.path().filename() == "trace.jsonl") return true;
    }
    return false;
  };
  for (int i = 0; i < 600 && !worker_started(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(child, signal_number);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_CASE("Ctrl-C ends with 130 and a verdict that says interrupted; TERM with 143", "[e2e]") {
  const Workplace place;
  const auto command = place.run_command("smoke", "trickle");
  const bool by_term = GENERATE(false, true);
  CHECK(interrupted_with(by_term ? SIGTERM : SIGINT, command, place / "store/runs") == (by_term ? 143 : 130));
  const json verdict = place.verdict();
  CHECK(verdict.at("word") == "interrupted");
  CHECK(verdict.at("exit_code") == (by_term ? 143 : 130));
  CHECK(candidate_cell(verdict).at("outcome") == "unfinished");
  const auto again = call({kBinary, "--store", place / "store", "report", "--rejudge", place.run_folder()});
  CHECK(again.exit_code == (by_term ? 143 : 130));
  CHECK(place.verdict().at("exit_code") == (by_term ? 143 : 130));
}

// The command with descriptors of a shell's making: "1>/dev/full", "0<&- 1>&-".
SubprocessResult call_in_shell(const std::vector<std::string>& command, const std::string& redirections) {
  std::string line;
  for (const std::string& word : command) line += "'" + word + "' ";
  return call({"/bin/sh", "-c", line + redirections});
}

TEST_CASE("data that could not be written is not exit 0, whatever the verb", "[e2e]") {
  const Workplace place;
  const auto verb = GENERATE(values<std::vector<std::string>>({{"list", "metrics"},
                                                               {"list", "knobs", "--json"},
                                                               {"describe", "knob", "tf32"},
                                                               {"schema"},
                                                               {"schema", "verdict"},
                                                               {"version"},
                                                               {"version", "--json"},
                                                               {"--help"},
                                                               {"run", "--help"},
                                                               {"plan", "--json"},
                                                               {"plan"},
                                                               {"run"},
                                                               {"run", "--json"},
                                                               {"db", "rebuild"}}));
  std::vector<std::string> command = place.run_command("smoke", "ok");
  const bool takes_matrix = (verb.front() == "plan" || verb.front() == "run") && verb.back() != "--help";
  if (!takes_matrix) command.resize(3);
  if (takes_matrix) command.erase(command.begin() + 3, command.begin() + (verb.front() == "plan" ? 5 : 4));
  if (verb.front() == "plan") command.resize(5);
  command.insert(command.begin() + 3, verb.begin(), verb.end());
  std::filesystem::create_directories(place / "store");
  const auto result = call_in_shell(command, "1>/dev/full");
  CAPTURE(verb, result.err);
  CHECK(result.exit_code == 5);
  CHECK_THAT(result.err, Catch::Contains("cannot write to standard output: No space left on device"));
}

TEST_CASE("a verdict that could not be written is never a greener code than it was", "[e2e]") {
  struct Row {
    const char* suite;
    const char* candidate;
    const char* word;
    int exit_code;
  };
  for (const Row& row : {Row{"smoke", "crash=11", "failed", 1}, Row{"memory", "drop_metric", "undecided", 5}}) {
    const Workplace place;
    CAPTURE(row.word);
    CHECK(call_in_shell(place.run_command(row.suite, row.candidate), "1>/dev/full").exit_code == row.exit_code);
    CHECK(place.verdict().at("word") == row.word);
  }
  const Workplace place;
  CHECK(interrupted_with(SIGINT, place.run_command("smoke", "trickle"), place / "store/runs", "/dev/full") == 5);
  CHECK(place.verdict().at("word") == "interrupted");
  CHECK(place.verdict().at("exit_code") == 130);
}

TEST_CASE("closed standard descriptors let nothing that is said into the files of a run", "[e2e]") {
  const Workplace place;
  const auto closed = GENERATE("0<&- 1>&- 2>&-", "1>&-", "2>&-");
  CHECK(call_in_shell(place.run_command("smoke", "ok"), closed).exit_code == 0);
  const fs::path run = place.run_folder();
  CHECK_THAT(read_file(run / "lock"), Catch::StartsWith("pid ") && !Catch::Contains("\n"));
  std::istringstream journal(read_file(run / "journal.jsonl"));
  for (std::string line; std::getline(journal, line);) CHECK_FALSE(json::parse(line, nullptr, false).is_discarded());
  CHECK(call({kBinary, "--store", place / "store", "report", run}).exit_code == 0);
}

// A run that was killed: everything but what its end would have written.
void cut_short(const fs::path& run) {
  fs::remove(run / "verdict.json");
  fs::remove(run / "junit.xml");
  std::string journal = read_file(run / "journal.jsonl");
  const auto last = journal.rfind('\n', journal.size() - 2);
  std::ofstream(run / "journal.jsonl", std::ios::binary) << journal.substr(0, last + 1);
}

TEST_CASE("a killed run is answered by its own state, never by an older one", "[e2e]") {
  const Workplace place;
  call(place.run_command("determinism", "ok"));
  const fs::path older = place.run_folder();
  const fs::path killed = older.parent_path() / "r-29991231-235959-ffff";
  fs::copy(older, killed, fs::copy_options::recursive);
  cut_short(killed);
  const std::string cell = json::parse(read_file(older / "verdict.json")).at("cells").at(0).at("cell_id");
  const auto verb = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {kBinary, "--store", place / "store"});
    return call(words);
  };
  for (const auto& words :
       {std::vector<std::string>{"explain", cell}, {"compare", killed}, {"compare", older, killed}}) {
    const auto result = verb(words);
    CAPTURE(words);
    CHECK(result.exit_code == 3);
    CHECK_THAT(result.err, Catch::Contains("run r-29991231-235959-ffff is unfinished") && Catch::Contains("report"));
    CHECK(result.out.empty());
  }
  CHECK(verb({"report"}).exit_code == 0);  // of the newest
  CHECK(fs::exists(killed / "verdict.json"));
  CHECK(verb({"explain", cell, "--run", "r-29991231-235959-ffff"}).exit_code == 0);
  CHECK_THAT(verb({"report", "r-29991231-235959-fff"}).err,
             Catch::Contains("there is no run `r-29991231-235959-fff`; did you mean `r-29991231-235959-ffff`?"));
}

TEST_CASE("the verdict of a running run is its own to write", "[e2e]") {
  const Workplace place;
  call(place.run_command("smoke", "ok"));
  const fs::path run = place.run_folder();
  cut_short(run);
  const int held = open((run / "lock").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(held, LOCK_EX | LOCK_NB) == 0);
  for (const char* verb : {"report", "compare"}) {
    const auto result = call({kBinary, "--store", place / "store", verb, run});
    CHECK(result.exit_code == 5);
    CHECK_THAT(result.err, Catch::Contains("is held by pid"));
  }
  CHECK_FALSE(fs::exists(run / "verdict.json"));
  close(held);
}

TEST_CASE("db rebuild names what it could not read", "[e2e]") {
  const Workplace place;
  call(place.run_command("smoke", "ok"));
  fs::create_directories(place / "store/runs/r-broken");
  std::ofstream(place / "store/runs/r-broken/run.json") << "{";
  const auto result = call({kBinary, "--store", place / "store", "db", "rebuild"});
  CHECK(result.exit_code == 5);
  CHECK(result.out == "index rebuilt from 1 run\n");
  CHECK_THAT(result.err, Catch::Contains("not in the index: ") && Catch::Contains("r-broken/run.json: not JSON"));
}

TEST_CASE("an option that takes a word names its words when it is given another", "[e2e]") {
  const auto colored = call({kBinary, "--color", "sometimes", "list", "stacks"});
  CHECK(colored.exit_code == 2);
  CHECK_THAT(colored.err, Catch::Contains("--color: `sometimes` is none of always, auto, never; see "));
  CHECK(call({kBinary, "--color", "1", "list", "knobs"}).exit_code == 2);
  CHECK(call({kBinary, "--color", "never", "list", "knobs"}).exit_code == 0);
  const auto failing = call({kBinary, "compare", "--fail-on", "nothing"});
  CHECK(failing.exit_code == 2);
  CHECK_THAT(failing.err, Catch::Contains("--fail-on: `nothing` is none of another_computation, any, defect; see "));
}

}  // namespace
}  // namespace reprobench
