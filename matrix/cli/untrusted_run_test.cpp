// What a worker of `run --untrusted` can reach, tried by a worker that reaches for everything; and what such a matrix
// may ask of the host.
#include "matrix/cli/untrusted_run.hpp"

#include <fstream>
#include <map>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"
#include "matrix/exec/subprocess.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

// An enclosure needs root or a user namespace.
bool is_possible_here() {
  const fs::path shepherd = fs::path(REPROBENCH_BINARY_DIR) / "reprobench-shepherd";
  const auto command = enclosed_command(host_enclosure(shepherd), {}, 0, {"/bin/sh", "-c", "exit 0"});
  return run_subprocess({.command = command}).exit_code == 0;
}

// A run of a worker that says in each attempt what it could read and write, and then trains as the fake one.
class CanaryPlace : public RunPlace {
 public:
  CanaryPlace() {
    fs::create_directories(*this / "worker");
    fs::copy_file(kFake, *this / "worker/reprobench-fake-worker");
    const std::string script = fmt::format(R"(#!/bin/sh
if [ "$1" = run ]; then
  said=$(dirname "$2")/canary
  echo "has $(grep -c : /proc/net/dev) interfaces, token '$HF_TOKEN'" >"$said"
  for f in '{0}/secret' /etc/passwd; do [ -e "$f" ] && echo "sees $f" >>"$said"; done
  for f in '{0}/planted' '{0}/worker/planted' '{1}/planted'; do (echo x >"$f") 2>/dev/null; done
fi
exec '{0}/worker/reprobench-fake-worker' "$@"
)",
                                           store().parent_path().string(), store().string());
    written_file(*this / "worker/canary", script, /*is_program=*/true);
    written_file(*this / "secret", "secret");
  }

  Said run_canary(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"--matrix", matrix(), "--no-report"};
    for (const char* stack : {"new", "old"}) {
      words.insert(words.end(), {"--worker", fmt::format("{}={} --do ok", stack, (*this / "worker/canary").string())});
    }
    words.insert(words.end(), more.begin(), more.end());
    return say(&declare_run, words);
  }

  // What its attempts left on this host.
  std::vector<std::string> planted() const {
    std::vector<std::string> found;
    for (const fs::path& path : {*this / "planted", *this / "worker/planted", store() / "planted"}) {
      if (fs::exists(path)) found.push_back(path);
    }
    return found;
  }

  // Of every attempt, in any order.
  std::vector<std::string> reached() const {
    std::vector<std::string> texts;
    for (const auto& entry : fs::recursive_directory_iterator(run_folder())) {
      if (entry.path().filename() == "canary") texts.push_back(read_file(entry.path()));
    }
    return texts;
  }
};

TEST_CASE("#41: an untrusted worker sees no secret, no network and no token, and writes to its attempt alone",
          "[cli][process]") {
  if (!is_possible_here()) return;
  const TemporaryVariable token("HF_TOKEN", "hf_secret");
  const CanaryPlace place;
  const Said said = place.run_canary({"--untrusted"});
  INFO(said.err << said.out);
  CHECK(said.code == ExitCode::passed);
  const auto reached = place.reached();
  CHECK(reached.size() == 2);
  for (const std::string& text : reached) CHECK(text == "has 1 interfaces, token ''\n");
  CHECK(place.planted().empty());
  const nlohmann::json overrides = place.file("plan.json").at("request").at("overrides");
  CHECK(std::ranges::count(overrides, nlohmann::json("--untrusted")) == 1);
}

TEST_CASE("the same worker reaches for what it should not and gets it where the matrix is trusted", "[cli][process]") {
  const CanaryPlace place;
  const Said said = place.run_canary({});
  INFO(said.err << said.out);
  CHECK(said.code == ExitCode::passed);
  const auto reached = place.reached();
  CHECK(reached.size() == 2);
  for (const std::string& text : reached) {
    CHECK_THAT(text, Contains("sees " + (place / "secret").string()) && Contains("sees /etc/passwd"));
  }
  CHECK(place.planted().size() == 3);
}

TEST_CASE("#41: an untrusted run takes no code with it, and has ranks of no outer launcher", "[cli]") {
  const RunPlace place;
  CHECK_THROWS_WITH(place.run("ok", {"--untrusted", "--trust"}), Contains("excludes"));
  const std::string matrix =
      written_file(place / "packaged.yaml",
                   "schema: 1\nname: small\nsuites: [short]\npackage: x.pt2\naxes:\n  stack: [new]\n  device: [cpu]\n");
  written_file(place / "x.pt2", "");
  CHECK_THROWS_WITH(place.run("ok", {"--untrusted"}, matrix), Contains("RB048"));
}

void modest(const Plan& plan, const UntrustedPolicy& policy = {}) { require_modest(plan, policy); }

Plan plan_of(const std::function<void(Cell&)>& change, std::size_t cells = 1) {
  Plan plan;
  for (std::size_t i = 0; i < cells; ++i) {
    PlannedCell& planned = plan.cells.emplace_back();
    planned.cell.slug = "short-mlp";
    planned.cell.request.device = "cpu";
    planned.cell.limits.total = std::chrono::hours(1);
    planned.cell.repeat = 100;
    change(planned.cell);
  }
  return plan;
}

TEST_CASE("#41: bounds on cells, repeats, time and devices of an untrusted matrix bind one past each", "[cli]") {
  const auto none = [](Cell&) {};
  CHECK_NOTHROW(modest(plan_of(none, 1'000)));
  CHECK_THROWS_WITH(modest(plan_of(none, 1'001)),
                    "--untrusted: 1001 cells are to run, and at most 1000 are allowed; choose with --filter");
  CHECK_THROWS_WITH(modest(plan_of([](Cell& cell) { cell.limits.total = std::chrono::milliseconds(3'600'001); })),
                    "--untrusted: short-mlp may take 3600 s an attempt, and at most 3600 s are allowed");
  CHECK_THROWS_WITH(modest(plan_of([](Cell& cell) { cell.repeat = 101; })),
                    "--untrusted: short-mlp asks for up to 101 repeats, and at most 100 are allowed");
  CHECK_THROWS_WITH(modest(plan_of([](Cell& cell) { cell.max_repeat = 101; })), Contains("up to 101 repeats"));
  CHECK_THROWS_WITH(modest(plan_of([](Cell& cell) { cell.request.device = "sm_90"; })),
                    Contains("short-mlp needs a GPU"));
  Plan skipped = plan_of([](Cell& cell) { cell.request.device = "sm_90"; });
  skipped.cells.front().skip = Skip{"device-class", "none here"};
  CHECK_NOTHROW(modest(skipped));
}

TEST_CASE("#41: a policy names the stacks and workloads of untrusted runs, and its bounds bind one past each",
          "[cli]") {
  const Plan plan = plan_of([](Cell& cell) {
    cell.request.stack = "new";
    cell.request.workload.model = "mlp";
    cell.repeat = 4;
    cell.limits.total = std::chrono::minutes(10);
  });
  CHECK_NOTHROW(modest(
      plan,
      {.stacks = {"new", "old"}, .workloads = {"mlp"}, .cells = 1, .repeats = 4, .attempt = std::chrono::minutes(10)}));
  CHECK_THROWS_WITH(modest(plan, {.stacks = {"old"}}),
                    "--untrusted: short-mlp runs on new, which is none of the policy's stacks");
  CHECK_THROWS_WITH(modest(plan, {.workloads = {"gpt2"}}),
                    "--untrusted: short-mlp runs mlp, which is none of the policy's workloads");
  CHECK_THROWS_WITH(modest(plan, {.repeats = 3}), Contains("up to 4 repeats, and at most 3"));
  CHECK_THROWS_WITH(modest(plan, {.attempt = std::chrono::minutes(9)}), Contains("600 s an attempt, and at most 540"));
  const Plan two = plan_of([](Cell& cell) { cell.repeat = 1; }, 2);
  CHECK_NOTHROW(modest(two, {.cells = 2}));
  CHECK_THROWS_WITH(modest(two, {.cells = 1}), Contains("2 cells are to run, and at most 1"));
}

// One that allows the stacks of its matrix one attempt each, in a folder beside that of the matrix.
class PolicyPlace : public RunPlace {
 public:
  const TemporaryFolder admin;

  std::string policy(const std::string& keys) const {
    return written_file(admin.path / "policy.yaml", "schema: 1\n" + keys);
  }
  Said run_with(const std::string& file) const { return run("ok", {"--untrusted", "--policy", file}, matrix()); }
};

TEST_CASE("#41: a policy is none that came with the matrix, or that others may write", "[cli]") {
  const PolicyPlace place;
  CHECK_THROWS_WITH(place.run("ok", {"--policy", place.policy("")}), Contains("requires --untrusted"));
  const std::string beside = written_file(fs::path(place.matrix()).parent_path() / "policy.yaml", "schema: 1\n");
  CHECK_THROWS_WITH(place.run_with(beside), Contains("with the matrix"));
  const fs::path link = place.admin.path / "link.yaml";
  fs::create_symlink(beside, link);
  CHECK_THROWS_WITH(place.run_with(link), Contains("with the matrix"));
  CHECK_THROWS_WITH(place.run_with(place.policy("cells: 0\n")), Contains("policy.yaml:2:8: error[RB021]"));
  CHECK_THROWS_WITH(place.run_with(place.admin.path / "none.yaml"), Contains("none.yaml"));
  CHECK_THROWS_WITH(place.run_with(place.policy("stacks: [old]\n")), Contains("none of the policy's stacks"));
  const std::string open = place.policy("");
  fs::permissions(open, fs::perms::others_write, fs::perm_options::add);
  CHECK_THROWS_WITH(place.run_with(open), Contains("--policy: others may write to "));
  fs::permissions(open, fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(place.admin.path, fs::perms::others_write, fs::perm_options::add);
  CHECK_THROWS_WITH(place.run_with(open), Contains("and so may swap " + open));
}

TEST_CASE("#41: an untrusted run whose time is over launches nothing more, and is undecided", "[cli][process]") {
  if (!is_possible_here()) return;
  const PolicyPlace place;
  const Said said = place.run_with(place.policy("run: 1ms\n"));
  INFO(said.err << said.out);
  CHECK(said.code == ExitCode::undecided);
  CHECK_THAT(said.err, Contains("the time of this run is over; nothing more was launched"));
  const nlohmann::json overrides = place.file("plan.json").at("request").at("overrides");
  CHECK(std::ranges::count(overrides, nlohmann::json("--policy " + (place.admin.path / "policy.yaml").string())) == 1);
  const nlohmann::json verdict = place.file("verdict.json");
  std::vector<std::string> outcomes;
  for (const auto& cell : verdict.at("cells")) outcomes.push_back(cell.at("outcome"));
  REQUIRE(outcomes.size() == 2);
  CHECK(outcomes.back() == "unfinished");  // the first may have begun within its millisecond
}

TEST_CASE("#41: an untrusted run takes no stack that another user may change", "[cli]") {
  const SmallProject project;
  const InstalledStack stack = project.install("new", small_capability());
  const auto check = [&] { require_own_stacks({"new", "old"}, project.project()); };
  CHECK_NOTHROW(check());
  for (const fs::path& path : {stack.worker, stack.worker.parent_path(), stack.folder, stack.folder.parent_path()}) {
    const fs::perms before = fs::status(path).permissions();
    fs::permissions(path, before | fs::perms::others_write);
    CHECK_THROWS_WITH(check(), "--untrusted: new: others may write to " + path.string());
    fs::permissions(path, before);
    CHECK_NOTHROW(check());
    if (geteuid() != 0) continue;
    REQUIRE(chown(path.c_str(), 12345, getegid()) == 0);
    CHECK_THROWS_WITH(check(), "--untrusted: new: " + path.string() + " belongs to user 12345");
    REQUIRE(chown(path.c_str(), 0, 12346) == 0);
    fs::permissions(path, before | fs::perms::group_write);
    CHECK_THROWS_WITH(check(), "--untrusted: new: others may write to " + path.string());
    REQUIRE(chown(path.c_str(), 0, getegid()) == 0);
    CHECK_NOTHROW(check());
    fs::permissions(path, before);
  }
}

TEST_CASE("#41: an untrusted run takes no store that another user may swap through a folder above it", "[cli]") {
  const SmallProject project;
  project.install("new", small_capability());
  const auto check = [&] { require_own_stacks({"new"}, project.project()); };
  CHECK_NOTHROW(check());
  const fs::path above = project.store().parent_path();
  const fs::perms before = fs::status(above).permissions();
  fs::permissions(above, before | fs::perms::others_write);
  CHECK_THROWS_WITH(check(), "--untrusted: others may write to " + above.string() + ", and so may swap what lies in " +
                                 (project.store() / "runs").string());
  fs::permissions(above, before | fs::perms::others_write | fs::perms::sticky_bit);
  if (geteuid() == 0) CHECK_NOTHROW(check());
  fs::permissions(above, before);
  if (geteuid() != 0) return;
  REQUIRE(chown(above.c_str(), 12345, getegid()) == 0);
  CHECK_THROWS_WITH(check(), Contains(above.string() + " belongs to user 12345, and so may swap"));
  fs::permissions(above, before | fs::perms::sticky_bit);
  CHECK_THROWS_WITH(check(), Contains(above.string() + " belongs to user 12345, and so may swap"));
  REQUIRE(chown(above.c_str(), 0, getegid()) == 0);
  fs::permissions(above, before);
}

bool wrote(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// In a user namespace of its own in which no further one may be made, as a user who is not root there.
bool forbid_enclosures() {
  const std::string user = fmt::format("1000 {} 1", geteuid());
  const std::string group = fmt::format("1000 {} 1", getegid());
  return unshare(CLONE_NEWUSER) == 0 && wrote("/proc/self/setgroups", "deny") && wrote("/proc/self/uid_map", user) &&
         wrote("/proc/self/gid_map", group) && wrote("/proc/sys/user/max_user_namespaces", "0");
}

TEST_CASE("#41: an untrusted run is refused where no worker can be kept apart", "[cli][process]") {
  const SmallProject project;
  const TemporaryFolder folder;
  const fs::path said = folder.path / "said";
  const pid_t child = fork();
  if (child == 0) {
    if (!forbid_enclosures()) _exit(3);
    try {
      require_enclosure(project.project());
    } catch (const UsageError& error) {
      std::ofstream(said) << error.what() << std::flush;
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
    WARN("no user namespace can be made here, so none can be forbidden in it");
    return;
  }
  CHECK_THAT(read_file(said), Catch::StartsWith("--untrusted: workers cannot be kept apart on this host: ") &&
                                  Contains("a user namespace"));
}

// The canary's attempt, which fills its folder with more than it may.
TEST_CASE("#41: an untrusted worker that fills the disk ends as disk_limit, and nothing else of the store is lost",
          "[cli][process]") {
  if (!is_possible_here()) return;
  const CanaryPlace place;
  written_file(place / "worker/filler",
               fmt::format("#!/bin/sh\nif [ \"$1\" = run ]; then\n  cd \"$(dirname \"$2\")\"\n"
                           "  for i in 1 2; do fallocate -l 600M large-$i; done; sleep 20\nfi\n"
                           "exec '{}' \"$@\"\n",
                           (place / "worker/reprobench-fake-worker").string()),
               /*is_program=*/true);
  const Said said =
      place.say(&declare_run, {"--matrix", place.matrix(), "--no-report", "--untrusted", "--worker",
                               fmt::format("new={} --do ok", (place / "worker/filler").string()), "--worker",
                               fmt::format("old={} --do ok", (place / "worker/reprobench-fake-worker").string())});
  INFO(said.err << said.out);
  CHECK(said.code == ExitCode::failed);
  std::map<std::string, std::string> reasons;
  const nlohmann::json verdict = place.file("verdict.json");
  for (const auto& cell : verdict.at("cells")) reasons[cell.at("slug")] = cell.at("reason");
  CHECK(reasons.at("short-mlp-new-cpu") == "disk_limit");
  CHECK(reasons.at("short-mlp-old-cpu") == "all_checks_passed");
  for (const auto& entry : fs::recursive_directory_iterator(place.run_folder())) {
    if (entry.path().filename().string().starts_with("large-")) fs::remove(entry.path());
  }
}

}  // namespace
}  // namespace reprobench
