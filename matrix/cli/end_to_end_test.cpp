// The whole coordinator as its users meet it: the built binary, real processes, real files; only the training is made
// up.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <thread>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"
#include "matrix/contract/safetensors.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json candidate_cell(const json& verdict) {
  for (const json& cell : verdict.at("cells")) {
    if (cell.at("coordinates").at("stack") == "torch-2.9.0-cu128") return cell;
  }
  FAIL("the verdict has no cell of the candidate");
  return {};
}

TEST_CASE("probes run from suite to verdict, and what is wrong with a device fails by name", "[e2e]") {
  struct Row {
    const char* suites;
    const char* candidate;
    int exit_code;
    const char* reason;
  };
  const Row row = GENERATE(
      Row{"device_smoke, device_memory, device_compute, device_stress", "ok", 0, "all_checks_passed"},
      Row{"device_smoke", "wrong_result", 1, "device.wrong_results"},
      Row{"device_memory", "slow_triad=5", 1, "device.bandwidth_share"},
      Row{"device_stress", "flipped_bit", 1, "device.stress_mismatches"}, Row{"device_stress", "crash", 1, "crash"});
  CAPTURE(row.suites, row.candidate);
  const Workplace place;
  CHECK(call(place.run_command(row.suites, row.candidate)).exit_code == row.exit_code);
  const json cell = candidate_cell(place.verdict());
  CHECK(cell.at("reason") == row.reason);
  if (std::string(row.candidate) == "crash") return;
  const SubprocessResult explained =
      call({kBinary, "--store", place / "store", "explain", cell.at("slug").get<std::string>()});
  CHECK(explained.exit_code == 0);
  CHECK_THAT(explained.out, Catch::Contains("measurements") && Catch::Contains("samples"));
}

TEST_CASE("a run in which everything holds ends with 0 and writes verdict, JUnit and index", "[e2e]") {
  const Workplace place;
  const auto result = call(place.run_command("smoke, determinism", "ok"));
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  const json verdict = place.verdict();
  CHECK(verdict.at("word") == "passed");
  CHECK(verdict.at("totals").at("planned") == 8);
  CHECK(verdict.at("totals").at("passed") == 8);
  CHECK(fs::exists(place.run_folder() / "junit.xml"));
  const auto listed = call({kBinary, "--store", place / "store", "db", "list"});
  CHECK(listed.out.find("passed") != std::string::npos);
}

struct Planted {
  const char* suites;
  const char* behaviour;
  int exit_code;
  const char* outcome;
  const char* reason;
};

TEST_CASE("each planted fault turns its cell, and only its cell, and the exit code", "[e2e]") {
  const auto planted = GENERATE(values<Planted>({
      {"throughput", "slow=1.1", 1, "failed", "throughput.step_time"},
      {"throughput", "slow=0.9", 0, "passed", "all_checks_passed"},
      {"memory", "drop_metric", 3, "inconclusive", "missing_metric"},
      {"determinism", "drift=5", 1, "failed", "numerics.repeat_mismatches"},
      {"determinism", "nan=5", 1, "failed", "non_finite_loss"},
      {"determinism", "different_workload", 1, "failed", "numerics.by_construction_mismatches"},
      {"determinism", "other_initial_bits", 1, "failed", "numerics.by_construction_mismatches"},
      {"throughput", "different_workload", 3, "inconclusive", "not_comparable"},
      {"smoke", "crash=11", 1, "failed", "crash"},
      {"smoke", "exit=3", 1, "failed", "nonzero"},
      {"smoke", "no_result", 1, "failed", "contract"},
      {"smoke", "wrong_nonce", 1, "failed", "contract"},
      {"smoke", "bad_crc", 1, "failed", "contract"},
      {"smoke", "leak", 1, "failed", "leaked"},
  }));
  INFO(planted.suites << " " << planted.behaviour);
  const Workplace place;
  const auto result = call(place.run_command(planted.suites, planted.behaviour));
  INFO(result.out << result.err);
  CHECK(result.exit_code == planted.exit_code);
  const json verdict = place.verdict();
  CHECK(candidate_cell(verdict).at("outcome") == planted.outcome);
  CHECK(candidate_cell(verdict).at("reason") == planted.reason);
  // The reference: it passed what was asked of it, which in throughput is nothing.
  CHECK(verdict.at("cells").at(1).at("outcome") ==
        (std::string_view(planted.suites) == "throughput" ? "recorded" : "passed"));
}

TEST_CASE("a drift between repeats names step and tensor", "[e2e]") {
  const Workplace place;
  call(place.run_command("determinism", "drift=5"));
  const json cell = candidate_cell(place.verdict());
  const json& divergence = cell.at("checks").at(0).at("divergence");
  CHECK(divergence.at("step") == 5);
  CHECK_FALSE(divergence.at("tensor").get<std::string>().empty());
}

TEST_CASE("two runs of one matrix have the same cells and the same digests", "[e2e]") {
  const Workplace first;
  const Workplace second;
  call(first.run_command("determinism", "ok"));
  call(second.run_command("determinism", "ok"));
  const json a = first.verdict();
  const json b = second.verdict();
  REQUIRE(a.at("cells").size() == b.at("cells").size());
  for (std::size_t i = 0; i < a.at("cells").size(); ++i) {
    CHECK(a.at("cells").at(i).at("cell_id") == b.at("cells").at(i).at("cell_id"));
    CHECK(a.at("cells").at(i).at("chain") == b.at("cells").at(i).at("chain"));
    CHECK(a.at("cells").at(i).at("outcome") == b.at("cells").at(i).at("outcome"));
  }
}

TEST_CASE("a broken matrix ends with 2, names the place and launches nothing", "[e2e]") {
  const Workplace place;
  std::ofstream(place / "broken.yaml")
      << "schema: 1\nname: x\nsuites: [smoke]\naxes: {stack: [torch-2.9.0-cu128]}\ntimout: 10m\n";
  const auto result = call({kBinary, "--store", place / "store", "run", "--matrix", place / "broken.yaml"});
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("broken.yaml:5:1: error[RB009]: unknown key `timout`; did you mean `timeout`?") !=
        std::string::npos);
  CHECK_FALSE(fs::exists(place / "store"));
}

TEST_CASE("a selection without cells ends with 4, an unknown cell or stack with 2", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("smoke", "ok");
  SECTION("filter") {
    command.insert(command.end(), {"--filter", "device == sm_90"});
    CHECK(call(command).exit_code == 4);
  }
  SECTION("cell") {
    command.insert(command.end(), {"--cell", "ffffffffffff"});
    CHECK(call(command).exit_code == 2);
  }
  SECTION("option") {
    command.push_back("--no-such-option");
    CHECK(call(command).exit_code == 2);
  }
}

TEST_CASE("a mistyped verb ends with 2 and names the nearest", "[e2e]") {
  const auto result = call({kBinary, "pln"});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, Catch::Contains("there is no verb `pln`; did you mean `plan`?"));
  CHECK(call({kBinary}).exit_code == 2);
}

int cells_skipped_as(const json& verdict, const std::string& reason) {
  return static_cast<int>(std::count_if(verdict.at("cells").begin(), verdict.at("cells").end(), [&](const json& cell) {
    return cell.at("outcome") == "skipped" && cell.at("reason") == reason;
  }));
}

TEST_CASE("a selected cell brings its reference along, and what was left out stays in the verdict", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("determinism", "ok");
  command.insert(command.end(), {"--stack", "torch-2.9.0-cu128", "--workload", "mlp"});
  const auto result = call(command);
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.out, Catch::Contains("2 of 4 cells selected, run with --worker torch-2.8.0-cu128"));
  CHECK_THAT(result.err, Catch::Contains("plan e2e: 2 of 4 cells selected, 2 runnable, 0 skipped"));
  const json verdict = place.verdict();
  CHECK(verdict.at("cells").size() == 4);
  CHECK(cells_skipped_as(verdict, "deselected") == 2);
  CHECK(verdict.at("selected_by") == json({"--stack torch-2.9.0-cu128", "--workload mlp"}));
}

TEST_CASE("the reference alone, by any selection, is no verdict on a matrix that requires the candidate", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("smoke", "ok");
  std::ofstream(place / "matrix.yaml", std::ios::app) << "required: [{stack: torch-2.9.0-cu128}]\n";
  SECTION("by stack") { command.insert(command.end(), {"--stack", "torch-2.8.0-cu128"}); }
  SECTION("by expression") { command.insert(command.end(), {"--filter", "stack == torch-2.8.0-cu128"}); }
  const auto result = call(command);
  INFO(result.out);
  CHECK(result.exit_code == 3);
  CHECK(result.out.find(" qualified") == std::string::npos);
}

TEST_CASE("a drill says so in the first line of everything it writes, and in its reproduce lines", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("determinism", "ok");
  const std::string fault = "kind=weight_ulp,step=20,tensor=fc1.weight,element=5,repeat=1,stack=torch-2.9.0-cu128";
  command.insert(command.end(), {"--inject", fault});
  const auto result = call(command);
  INFO(result.out << result.err);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.out, Catch::StartsWith("DRILL"));
  CHECK_THAT(result.err, Catch::StartsWith("DRILL"));
  const json verdict = place.verdict();
  CHECK_THAT(verdict.at("sentence").get<std::string>(), Catch::StartsWith("DRILL"));
  CHECK_THAT(candidate_cell(verdict).at("reproduce").get<std::string>(), Catch::EndsWith(" --inject " + fault));
  CHECK_THAT(read_file(place.run_folder() / "junit.xml"), Catch::Contains("<testsuites name=\"DRILL e2e\" "));
}

TEST_CASE("a fault that sits nowhere is a usage error and launches nothing", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("smoke, determinism", "ok");
  SECTION("a step beyond the end of every cell") {
    command.insert(command.end(), {"--inject", "kind=weight_ulp,step=5000,tensor=fc1.weight,repeat=0"});
  }
  SECTION("a step beyond the end of the selected cells") {
    command.insert(command.end(),
                   {"--inject", "kind=weight_ulp,step=150,tensor=fc1.weight", "--filter", "suite == smoke"});
  }
  CHECK(call(command).exit_code == 2);
  CHECK_FALSE(fs::exists(place / "store"));
}

TEST_CASE("a failed check shows while the run goes on and counts for --fail-fast", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("determinism, smoke", "drift=5");
  command.push_back("--fail-fast=1");
  const auto result = call(command);
  INFO(result.out << result.err);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.err, Catch::Contains("failed   determinism-mlp-torch-2.9.0-cu128-cpu · numerics.repeat_mismatches: "
                                         "repeat 1 differs from repeat 0 in 196 of 200 steps"));
  CHECK(place.verdict().at("totals").at("failed") == 1);
  CHECK(place.verdict().at("totals").at("unfinished") > 0);
}

TEST_CASE("a candidate that ends before its reference is held against it as soon as that has ended", "[e2e]") {
  const Workplace place;
  const auto result = call(place.run_command("throughput", "slow=2"));
  INFO(result.out << result.err);
  CHECK_THAT(result.err, Catch::Contains("failed   throughput-mlp-torch-2.9.0-cu128-cpu · throughput.step_time: "));
}

TEST_CASE("fewer repeats than the matrix asks for give no verdict on it", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("determinism", "ok");
  command.insert(command.end(), {"--repeat", "2"});
  CHECK_THAT(call(command).out, Catch::Contains("run with --repeat 2 --worker torch-2.8.0-cu128"));
}

TEST_CASE("a store that cannot be made ends with 5 before anything is launched", "[e2e]") {
  const Workplace place;
  std::ofstream(place / "store") << "a file where a folder should be";
  CHECK(call(place.run_command("smoke", "ok")).exit_code == 5);
}

TEST_CASE("a run with another worker than the installed one says so and qualifies nothing", "[e2e]") {
  const Workplace place;
  const auto result = call(place.run_command("smoke", "ok"));
  CHECK(result.exit_code == 0);
  std::string words = result.out;
  std::replace(words.begin(), words.end(), '\n', ' ');
  CHECK_THAT(words, Catch::Contains("run with --worker torch-2.8.0-cu128 --worker torch-2.9.0-cu128: no verdict on"));
  CHECK(words.find("e2e qualified") == std::string::npos);
}

TEST_CASE("a name that nothing has is answered with the nearest", "[e2e]") {
  const Workplace place;
  const auto run = place.run_command("smoke", "ok");
  struct Row {
    std::vector<std::string> command;
    const char* answer;
  };
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  for (const Row& row : {
           Row{with({"--stack", "torch-2.9"}), "`torch-2.9`; did you mean `torch-2.9.0-cu128`?"},
           Row{with({"--workload", "mpl"}), "`mpl`; did you mean `mlp`?"},
           Row{with({"--device", "cup"}), "`cup`; did you mean `cpu`?"},
           Row{with({"--cell", "smoke-mlp-torch-2.9.0-cu128-gpu"}), "did you mean `smoke-mlp-torch-2.9.0-cu128-cpu`?"},
           Row{with({"--job", "2"}), "there is no option of run `--job`; did you mean `--jobs`?"},
           Row{{kBinary, "compare", "torch-2.9.0-cu182"}, "did you mean `torch-2.9.0-cu128`?"},
           Row{{kBinary, "compare", "torch-2.8.0-cu128", "torch-2.9.0-cu128", "--knob", "tf23=on"},
               "did you mean `tf32`?"},
           Row{{kBinary, "describe", "stack", "torch-2.9.0-cu182"}, "did you mean `torch-2.9.0-cu128`?"},
           Row{{kBinary, "list", "stakcs"}, "did you mean `stacks`?"},
           Row{{kBinary, "calibrate", "torch-2.9.0-cu182"}, "did you mean `torch-2.9.0-cu128`?"},
           Row{{kBinary, "schema", "verdit"}, "did you mean `verdict`?"},
       }) {
    const auto result = call(row.command);
    CAPTURE(row.command, result.err);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Catch::Contains(row.answer));
  }
}

TEST_CASE("explain writes quantities as the verdict's sentences do", "[e2e]") {
  const Workplace place;
  call(place.run_command("throughput", "slow=2"));
  const std::string cell = candidate_cell(place.verdict()).at("cell_id");
  const auto result = call({kBinary, "--store", place / "store", "explain", cell, "throughput.step_time"});
  INFO(result.out);
  CHECK_THAT(result.out, Catch::Matches(R"([\s\S]*measured   [0-9.]+ [mu]s   reference [0-9.]+ [mu]s\n[\s\S]*)"));
  CHECK_THAT(result.out,
             Catch::Matches(R"([\s\S]*ratio      x[12]\.[0-9]{3} \[[0-9.]+, [0-9.]+\]   lower is better\n[\s\S]*)"));
  CHECK_THAT(result.out, Catch::Contains(" %   margin -"));
}

TEST_CASE("reading makes no store", "[e2e]") {
  const Workplace place;
  for (const auto& words : {std::vector<std::string>{"db", "list"},
                            {"list", "runs"},
                            {"explain", "x"},
                            {"report"},
                            {"compare"},
                            {"list", "stacks"}}) {
    std::vector<std::string> command{kBinary, "--store", place / "store"};
    command.insert(command.end(), words.begin(), words.end());
    call(command);
    CAPTURE(words);
    CHECK_FALSE(fs::exists(place / "store"));
  }
}

TEST_CASE("help, version and exit codes are where people look for them", "[e2e]") {
  CHECK(call({kBinary, "--version"}).out == call({kBinary, "version"}).out);
  CHECK(call({kBinary, "help"}).out == call({kBinary, "--help"}).out);
  CHECK(call({kBinary, "help", "compare"}).out == call({kBinary, "compare", "--help"}).out);
  for (const char* verb : {"run", "plan", "compare", "explain", "report", "stack", "db"}) {
    CHECK_THAT(call({kBinary, verb, "--help"}).out, Catch::Contains("Exit codes: 0 "));
  }
  CHECK_THAT(call({kBinary, "compare", "--help"}).out, Catch::Contains("3 one cannot be compared"));
  CHECK_THAT(call({kBinary, "list", "faults"}).out, Catch::Contains("weight_ulp"));
}

TEST_CASE("runs are listed as text and as a document", "[e2e]") {
  const Workplace place;
  call(place.run_command("smoke", "ok"));
  const std::string id = place.run_folder().filename();
  for (const auto& words : {std::vector<std::string>{"db", "list", "--json"}, {"list", "runs", "--json"}}) {
    std::vector<std::string> command{kBinary, "--store", place / "store"};
    command.insert(command.end(), words.begin(), words.end());
    const json document = json::parse(call(command).out);
    CHECK(document.at("schema") == "reprobench/list");
    CHECK(document.at("entries").at(0).at("name") == id);
  }
}

TEST_CASE("output to a pipe has no escape sequences", "[e2e]") {
  const Workplace place;
  const auto result = call(place.run_command("smoke", "crash=11"));
  CHECK((result.out + result.err).find('\x1b') == std::string::npos);
}

// Starts the command with its stdout closed, sends a signal once the run directory is there and returns the exit
// status.
int interrupted_with(int signal_number, const std::vector<std::string>& command, const fs::path& runs) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
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
  CHECK_THAT(result.err, Catch::Contains("left out: ") && Catch::Contains("r-broken/run.json: not JSON"));
}

TEST_CASE("explain shows no escape sequence, bidirectional mark or line of a worker's making", "[e2e]") {
  const Workplace place;
  call(place.run_command("determinism", "ok"));
  const fs::path file = place.run_folder() / "verdict.json";
  json verdict = json::parse(read_file(file));
  json& cell = verdict.at("cells").at(0);
  const std::string evil = "\x1b[2K\x1b]0;title\x07 \u202eknil\nVerdict PASSED\n";
  for (const char* key : {"sentence", "reason", "reproduce", "slug"}) cell[key] = evil;
  cell.at("attempts").at(0)["detail"] = evil;
  cell.at("checks").at(0)["origin"] = evil;
  std::ofstream(file) << verdict.dump();
  for (const char* color : {"never", "always"}) {
    const auto result = call({kBinary, "--store", place / "store", "--color", color, "explain", cell.at("cell_id")});
    INFO(result.out);
    CHECK(result.exit_code == 0);
    CHECK(result.out.find('\x1b') == std::string::npos);
    CHECK(result.out.find("\u202e") == std::string::npos);
    CHECK(result.out.find("\nVerdict") == std::string::npos);
  }
}

TEST_CASE("explain names the threshold's origin", "[e2e]") {
  const Workplace place;
  call(place.run_command("determinism", "drift=5"));
  const std::string cell = candidate_cell(place.verdict()).at("cell_id");
  const auto result = call({kBinary, "--store", place / "store", "explain", cell, "numerics.repeat_mismatches"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("suites/definitions/determinism.yaml:") != std::string::npos);
  CHECK(call({kBinary, "--store", place / "store", "explain", cell, "no.such_check"}).exit_code == 2);
}

TEST_CASE(
    "compare says where two runs part, that a run which repeats itself is its equal, and refuses what has nothing in "
    "common",
    "[e2e]") {
  const Workplace place;
  CHECK(call(place.run_command("smoke, determinism", "drift=5")).exit_code == 1);
  const std::string run = place.run_folder();
  const auto compare = [&](const std::string& a, const std::string& b) {
    return call({kBinary, "--store", place / "store", "compare", a, b, "--json"});
  };
  const auto whole = compare(run, run);
  INFO(whole.out << whole.err);
  CHECK(whole.exit_code == 1);
  const json comparisons = json::parse(whole.out).at("comparisons");
  CHECK(comparisons.size() == 8);
  // The drifting cells do not repeat themselves and are nobody's equal, not even their own.
  for (const json& one : comparisons) {
    const bool drifts = one.at("measured_name").get<std::string>().starts_with("determinism-") &&
                        one.at("measured_name").get<std::string>().find("2.9.0") != std::string::npos;
    CHECK(one.at("word") == (drifts ? "differs" : "equal"));
  }
  CHECK_THAT(whole.err, Catch::Contains("8 pairs compared: 6 equal, 2 differ (exit 1)"));

  std::string candidate;
  std::string reference;
  const json verdict = place.verdict();
  for (const json& cell : verdict.at("cells")) {
    const json& at = cell.at("coordinates");
    if (at.at("suite") != "determinism" || at.at("workload") != "mlp") continue;
    (at.at("stack") == "torch-2.9.0-cu128" ? candidate : reference) = cell.at("cell_id");
  }
  const auto cells = compare(run + ":" + candidate, run + ":" + reference);
  INFO(cells.out << cells.err);
  CHECK(json::parse(cells.out).at("measured").get<std::string>().find(candidate) != std::string::npos);
  CHECK(json::parse(cells.out).at("steps_compared") > 0);
  CHECK(cells.exit_code == 1);
  CHECK_THAT(json::parse(cells.out).at("sentence").get<std::string>(),
             Catch::Contains("; repeat 0 against repeat 0; ") &&
                 Catch::Contains("does not repeat itself: repeat 1 has other bits than repeat 0"));
  CHECK(compare(run + ":ffffffff", run).exit_code == 2);
  CHECK(compare("torch-2.9.0-cu128", run).exit_code == 2);
}

TEST_CASE("compare with a run alone holds its cells against their references and leaves what it found beside them",
          "[e2e]") {
  const Workplace place;
  CHECK(call(place.run_command("smoke, determinism", "drift=5")).exit_code == 1);
  const auto result = call({kBinary, "--store", place / "store", "compare", place.run_folder()});
  CHECK(result.exit_code == 1);
  CHECK(result.out.find("first difference in step 5, parameter `fc1.weight`") != std::string::npos);
  const json document = json::parse(read_file(place.run_folder() / "comparisons.json"));
  CHECK(document.at("schema") == "reprobench/comparisons");
  CHECK(document.at("comparisons").size() == 4);
  for (const json& one : document.at("comparisons")) {
    CHECK(one.at("word") == "differs");
    if (!one.at("measured_name").get<std::string>().starts_with("determinism-")) continue;  // no tensors on record
    CHECK(one.at("strip").at("steps").at(0) == 1);
    CHECK(one.at("strip").at("rows").at(0).at("marks").get<std::string>().substr(0, 4) == "....");
  }
}

TEST_CASE("compare with a run whose cell crashed, or was deleted, is never green", "[e2e]") {
  const Workplace place;
  std::string problem;
  SECTION("crashed") {
    CHECK(call(place.run_command("determinism", "crash=11")).exit_code == 1);
    problem = "did not train to its end: crash: SIGSEGV";
  }
  SECTION("deleted") {
    CHECK(call(place.run_command("determinism", "ok")).exit_code == 0);
    fs::remove_all(place.run_folder() / "cells" / candidate_cell(place.verdict()).at("cell_id").get<std::string>());
    problem = "did not train to its end: ";
  }
  const auto result = call({kBinary, "--store", place / "store", "compare", place.run_folder()});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 3);
  CHECK_THAT(result.out, Catch::Contains("nothing to compare: determinism-") && Catch::Contains(problem));
  CHECK_THAT(result.out, Catch::Contains("not comparable (exit 3)"));
}

TEST_CASE("compare with a run shows time and memory beside the bits", "[e2e]") {
  const Workplace place;
  CHECK(call(place.run_command("throughput", "slow=2")).exit_code == 1);
  const auto result = call({kBinary, "--store", place / "store", "compare", place.run_folder()});
  INFO(result.out << result.err);
  CHECK_THAT(result.out, Catch::Contains("throughput.step_time: ") && Catch::Contains("worse by more than 5 %"));
  CHECK_THAT(result.out, Catch::Contains("throughput-mlp-torch-2.9.0-cu128-cpu against "
                                         "throughput-mlp-torch-2.8.0-cu128-cpu: mlp/base, 3000 steps"));
}

TEST_CASE("compare goes on past replays that fail, and says what is left unanswered", "[e2e]") {
  const Workplace place;
  CHECK(call(place.run_command("determinism", "drift=5")).exit_code == 1);
  // The fake worker leaves nothing of what a replay is asked for.
  const auto result = call({kBinary, "--store", place / "store", "compare", place.run_folder(), "--explain", "--worker",
                            "torch-2.9.0-cu128=" + kFakeWorker, "--worker", "torch-2.8.0-cu128=" + kFakeWorker});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 1);
  CHECK(result.err.find("not answered: explanation: ") != std::string::npos);
  const json document = json::parse(read_file(place.run_folder() / "comparisons.json"));
  CHECK(document.at("comparisons").size() == 2);
  for (const json& one : document.at("comparisons")) {
    CHECK(one.at("word") == "differs");
    CHECK(one.at("first_difference").at("step") == 5);
    CHECK(one.at("sentence").get<std::string>().find("not answered: explanation: ") != std::string::npos);
  }
}

TEST_CASE("compare holds tensor files of anyone against each other", "[e2e]") {
  const Workplace place;
  std::vector<float> values{1, 2, 3, 4};
  const auto write = [&](const std::string& name, const std::string& tensor) {
    write_safetensors(place / name, {{tensor, "F32", {2, 2}, std::as_bytes(std::span(values))}}, {});
    return (place / name).string();
  };
  const std::string a = write("a.safetensors", "w");
  const std::string same = write("same.safetensors", "w");
  values[2] = std::nextafter(3.0F, 4.0F);
  const std::string moved = write("moved.safetensors", "w");
  const std::string other = write("other.safetensors", "v");
  const auto compare = [&](const std::string& x, const std::string& y) { return call({kBinary, "compare", x, y}); };
  CHECK(compare(a, same).exit_code == 0);
  const auto differing = compare(moved, a);
  CHECK(differing.exit_code == 1);
  CHECK(differing.out.find("first at 2: 3.00000024 (0x40400001) against 3 (0x40400000), 1 ULP") != std::string::npos);
  CHECK(compare(a, other).exit_code == 3);
  fs::resize_file(moved, 40);
  const auto cut = compare(a, moved);
  CHECK(cut.exit_code == 5);
  CHECK(cut.err.find("moved.safetensors: byte") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
