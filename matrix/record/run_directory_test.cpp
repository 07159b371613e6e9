#include "matrix/record/run_directory.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

RunInfo sample_info() {
  RunInfo info;
  info.run_id = "r1";
  info.command_line = {"reprobench", "run"};
  info.started_utc = "2026-01-01T00:00:00Z";
  info.reprobench_version = "0.1.0";
  return info;
}

Plan sample_plan(const SampleAttempt& sample) {
  Plan plan;
  plan.matrix = "sample";
  Cell cell;
  cell.request = sample.request;
  cell.request.nonce = "";
  cell.slug = "smoke-mlp";
  plan.cells.push_back({cell, std::nullopt, {}});
  return plan;
}

std::string what_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const StoreError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// A fault that makes every write to a file fail, as a full disk does.
class NoSpace {
 public:
  NoSpace() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoSpace() { setrlimit(RLIMIT_FSIZE, &before_); }
  NoSpace(const NoSpace&) = delete;
  NoSpace& operator=(const NoSpace&) = delete;

 private:
  rlimit before_{};
};

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("what was run and how it ended comes back from the files", "[record]") {
  TemporaryFolder store;
  SampleAttempt sample;
  RunInfo info = sample_info();
  fs::path folder;
  {
    RunDirectory run = RunDirectory::create(store.path, std::nullopt, info, sample_plan(sample));
    folder = run.folder();
    sample.write(run.begin_attempt(sample.request));
    run.end_attempt(sample.request, AttemptEnd::completed, "exit code 0");
    sample.request.repeat = 1;
    sample.request.nonce = "1111111111111111";
    run.begin_attempt(sample.request);
    run.end_attempt(sample.request, AttemptEnd::timeout, "no end within the limit of 5 s");
    sample.request.repeat = 2;
    sample.request.nonce = "2222222222222222";
    run.begin_attempt(sample.request);
    run.keep_input("sample.yaml", "schema: 1\n");
    info.ended_utc = "2026-01-01T00:00:09Z";
    info.interrupted = true;
    run.finish(info);
  }
  const RunRecord record = load_run(folder.string());
  CHECK(record.folder == folder.string());
  CHECK(record.info.run_id == "r1");
  CHECK(record.info.interrupted);
  CHECK(record.info.ended_utc == info.ended_utc);
  REQUIRE(record.cells.size() == 1);
  REQUIRE(record.cells[0].attempts.size() == 3);
  CHECK(record.cells[0].attempts[0].end == AttemptEnd::completed);
  CHECK(record.cells[0].attempts[1].end == AttemptEnd::timeout);
  CHECK(record.cells[0].attempts[1].detail == "no end within the limit of 5 s");
  CHECK(record.cells[0].attempts[2].end == AttemptEnd::lost);
  CHECK(read_file(folder / "inputs" / "sample.yaml") == "schema: 1\n");
  const auto request = nlohmann::json::parse(read_file(folder / record.cells[0].attempts[0].folder / "request.json"));
  CHECK(request_from_json(request).nonce == "0123456789abcdef");
}

TEST_CASE("a journal cut in its last line loses that line alone", "[record]") {
  TemporaryFolder store;
  SampleAttempt sample;
  fs::path folder;
  {
    RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
    folder = run.folder();
    sample.write(run.begin_attempt(sample.request));
  }
  const fs::path journal = folder / "journal.jsonl";
  const std::string whole = read_file(journal);
  const std::size_t header_bytes = whole.find('\n') + 1;
  fs::resize_file(journal, whole.size() - 5);
  CHECK(load_run(folder.string()).cells[0].attempts.empty());

  std::string spoiled = whole;
  spoiled[header_bytes / 2] ^= 1;
  std::ofstream(journal, std::ios::binary) << spoiled;
  CHECK(what_of([&] { load_run(folder.string()); }).substr(0, 29) == "journal.jsonl:1: checksum is ");
}

TEST_CASE("F22: the second runner of a run is told at once who holds it", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  const auto create = [&] {
    return RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  };
  {
    const RunDirectory run = create();
    const std::string what = what_of(create);
    CHECK(what.substr(0, 26 + std::to_string(getpid()).size()) ==
          "run r1 is held by pid " + std::to_string(getpid()) + " on ");
    CHECK(what.find(" since 2") != std::string::npos);
  }
  CHECK(what_of(create).find("already holds a run") != std::string::npos);
}

TEST_CASE("F22: the kernel frees the lock of a runner that was killed", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t holder = fork();
  REQUIRE(holder >= 0);
  if (holder == 0) {
    const RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
    const bool told = write(ready[1], "x", 1) == 1;
    while (told) pause();
    _exit(1);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const auto create = [&] { RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample)); };
  CHECK(what_of(create).find("is held by pid " + std::to_string(holder)) != std::string::npos);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  CHECK(what_of(create).find("already holds a run") != std::string::npos);
}

TEST_CASE("F28: a store that cannot be written is refused before anything runs", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  std::ofstream(store.path / "file") << "in the way";
  const auto below_a_file = [&] {
    RunDirectory::create(store.path / "file", std::nullopt, sample_info(), sample_plan(sample));
  };
  CHECK(what_of(below_a_file).find("Not a directory") != std::string::npos);
  const auto on_a_full_disk = [&] {
    const NoSpace no_space;
    RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  };
  CHECK(what_of(on_a_full_disk).find("cannot write ") != std::string::npos);
}

TEST_CASE("a run's folders are private to the user", "[record]") {
  TemporaryFolder store;
  SampleAttempt sample;
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  for (const fs::path& folder : {run.folder(), run.begin_attempt(sample.request)}) {
    struct stat status {};
    REQUIRE(stat(folder.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
  }
}

TEST_CASE("F25: a write that fails leaves the old file and no other", "[record]") {
  TemporaryFolder folder;
  const fs::path file = folder.path / "document.json";
  write_file_atomically(file, "old");
  {
    const NoSpace no_space;
    CHECK(what_of([&] { write_file_atomically(file, "new"); }).find("File too large") != std::string::npos);
  }
  CHECK(read_file(file) == "old");
  CHECK(files_in(folder.path) == 1);
  write_file_atomically(file, "new");
  CHECK(read_file(file) == "new");
  CHECK(files_in(folder.path) == 1);
}

TEST_CASE("an input's name stays inside the folder", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  const std::string name = GENERATE(as<std::string>(), "", ".", "..", "../x", "a/b");
  CHECK_THROWS_AS(run.keep_input(name, "x"), StoreError);
}

TEST_CASE("a folder that is no run is named", "[record]") {
  TemporaryFolder folder;
  CHECK(what_of([&] { load_run(folder.path.string()); }) ==
        folder.path.string() + " is not a run directory: run.json is missing");
  std::ofstream(folder.path / "run.json") << "{";
  CHECK(what_of([&] { load_run(folder.path.string()); }).find("run.json: ") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
