#include "matrix/record/run_directory.hpp"

#include <set>
#include <sstream>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/record/run_documents.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

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

TEST_CASE("a run whose plan or journal a worker removed or changed does not finish", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  run.begin_attempt(sample.request);
  const fs::path plan = run.folder() / "plan.json";
  const fs::path journal = run.folder() / "journal.jsonl";
  std::string touched = "journal.jsonl changed while the run went on: nothing is judged";
  SECTION("the journal is removed") {
    touched = "journal.jsonl: missing";
    fs::remove(journal);
  }
  SECTION("the journal is another file with the same text") {
    const std::string text = read_file(journal);
    fs::remove(journal);
    std::ofstream(journal) << text;
  }
  SECTION("the journal has a line more") { std::ofstream(journal, std::ios::app) << "{}\n"; }
  SECTION("the journal is cut") { fs::resize_file(journal, fs::file_size(journal) - 1); }
  SECTION("the plan is removed") {
    touched = "plan.json: missing";
    fs::remove(plan);
  }
  SECTION("the plan is written anew") {
    touched = "plan.json changed while the run went on: nothing is judged";
    std::string text = read_file(plan);
    text[text.size() / 2] ^= 1;
    std::fstream(plan, std::ios::in | std::ios::out) << text;
  }
  const std::string what = what_of([&] { run.finish(sample_info()); });
  CHECK(what.ends_with(touched));
  CHECK(read_file(run.folder() / "run.json").find("\"ended_utc\": \"\"") != std::string::npos);
}

TEST_CASE("of an attempt that was changed no large file is taken over, of any other every one", "[record]") {
  const AttemptEnd end = GENERATE(AttemptEnd::store, AttemptEnd::completed);
  TemporaryFolder store;
  TemporaryFolder source;
  for (const char* name : {"small", "large"}) std::ofstream(source.path / name) << "";
  fs::resize_file(source.path / "small", std::uintmax_t{64} << 20);
  fs::resize_file(source.path / "large", (std::uintmax_t{64} << 20) + 1);
  const SampleAttempt sample;
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  run.adopt_attempt(sample.request, source.path, end, "");
  std::set<std::string> taken;
  for (const auto& entry : fs::recursive_directory_iterator(run.folder() / "cells")) {
    if (entry.is_regular_file()) taken.insert(entry.path().filename());
  }
  CHECK(taken == (end == AttemptEnd::store ? std::set<std::string>{"small"} : std::set<std::string>{"small", "large"}));
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

TEST_CASE("each rank reads its own number, and one of them the fault", "[record][ranks]") {
  TemporaryFolder store;
  SampleAttempt sample;
  sample.request.world_size = 2;
  sample.request.inject = Injection{"weight_ulp", 2, "fc1.weight", 5, 1};
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  const auto folder = run.begin_attempt(sample.request);
  for (int rank = 0; rank < 2; ++rank) {
    std::ifstream file(folder / rank_folder_name(rank) / "request.json");
    const CellRequest request = request_from_json(nlohmann::json::parse(file));
    CHECK(request.rank == rank);
    CHECK(request.inject.has_value() == (rank == 1));
  }
}

TEST_CASE("a run's folders are private to the user", "[record]") {
  TemporaryFolder store;
  SampleAttempt sample;
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  const fs::path attempt = run.begin_attempt(sample.request);
  for (const fs::path& folder : {run.folder(), attempt, attempt.parent_path(), attempt / rank_folder_name(0)}) {
    struct stat status {};
    REQUIRE(stat(folder.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
  }
  for (const fs::path& file : {run.folder() / "run.json", run.folder() / "plan.json", run.folder() / "journal.jsonl",
                               run.folder() / "lock", attempt / rank_folder_name(0) / "request.json"}) {
    INFO(file);
    struct stat status {};
    REQUIRE(stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
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

TEST_CASE("a document of more than 4 GiB is refused before any of it is read", "[record]") {
  TemporaryFolder folder;
  const fs::path file = folder.path / "plan.json";
  std::ofstream(file) << "";
  fs::resize_file(file, (std::uintmax_t{4} << 30) + 1);
  CHECK(what_of([&] { read_file(file); }) == "cannot read " + file.string() + ": is larger than 1073741824 bytes");
}

TEST_CASE("an input's name stays inside the folder", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  const std::string name = GENERATE(as<std::string>(), "", ".", "..", "../x", "a/b");
  CHECK_THROWS_AS(run.keep_input(name, "x"), StoreError);
  run.keep_input("..x", "kept");
  CHECK(read_file(run.folder() / "inputs" / "..x") == "kept");
}

TEST_CASE("a run is held while its runner lives, for readers too, and not before or after", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  const auto asked = [&] { return what_of([&] { require_not_held(store.path / "run", "r1"); }); };
  CHECK(asked() == "nothing was thrown");
  {
    const RunDirectory run = RunDirectory::create(store.path, store.path / "run", sample_info(), sample_plan(sample));
    CHECK(asked().starts_with("run r1 is held by pid " + std::to_string(getpid()) + " on host "));
  }
  CHECK(asked() == "nothing was thrown");
}

TEST_CASE("what a difference is stands in the journal, once a cell", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  const CellDiagnosis diagnosis{"bbbbbbbbbbbb", "aaaaaaaaaaaa", ExplainedWord::another_computation,
                                "its epsilon differs"};
  run.note_diagnosis(diagnosis);
  const fs::path path = run.folder() / "journal.jsonl";
  const Journal journal = read_journal(path);
  REQUIRE(journal.diagnoses.size() == 1);
  CHECK(journal.diagnoses[0].cell_id == diagnosis.cell_id);
  CHECK(journal.diagnoses[0].reference_cell_id == diagnosis.reference_cell_id);
  CHECK(journal.diagnoses[0].word == diagnosis.word);
  CHECK(journal.diagnoses[0].sentence == diagnosis.sentence);
  run.note_diagnosis(diagnosis);
  CHECK(what_of([&] { read_journal(path); }).find("a second diagnosis of cell bbbbbbbbbbbb") != std::string::npos);
}

TEST_CASE("a journal with two ends, two headers or an unsealed end is refused", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  run.begin_attempt(sample.request);
  run.end_attempt(sample.request, AttemptEnd::timeout, "too long");
  const fs::path path = run.folder() / "journal.jsonl";
  std::vector<nlohmann::json> lines;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) {
    lines.push_back(std::get<nlohmann::json>(parse_trace_line(line, static_cast<std::int64_t>(lines.size()))));
  }
  REQUIRE(lines.size() == 3);
  CHECK(read_journal(path).attempts.at(0).files.value().at(0).name == "rank-0/request.json");
  std::string expected;
  SECTION("two ends") {
    lines.push_back(lines[2]);
    expected = "a second end of the attempt of nonce 0123456789abcdef";
  }
  SECTION("two attempts of one nonce") {
    lines.push_back(lines[1]);
    expected = "a second attempt of nonce 0123456789abcdef";
  }
  SECTION("two headers") {
    lines.push_back(lines[0]);
    expected = "a second header";
  }
  SECTION("no header") {
    lines.erase(lines.begin());
    expected = "`begin` comes before the header";
  }
  SECTION("no seal") {
    lines[2].erase("files");
    expected = "`files` is missing";
  }
  std::ofstream spoiled(path);
  std::int64_t seq = 0;
  for (const nlohmann::json& line : lines) spoiled << trace_line(line, seq++);
  spoiled.close();
  CHECK(what_of([&] { read_journal(path); }).find(": " + expected + ";") != std::string::npos);
}

TEST_CASE("an end needs its seal", "[record]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
  run.begin_attempt(sample.request);
  run.end_attempt(sample.request, AttemptEnd::hang, "silent");
  const fs::path path = run.folder() / "journal.jsonl";
  std::istringstream text(read_file(path));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(std::get<nlohmann::json>(parse_trace_line(line, static_cast<std::int64_t>(lines.size()))));
  }
  lines.at(2).erase("files");
  std::ofstream unsealed(path);
  for (std::size_t i = 0; i < lines.size(); ++i) unsealed << trace_line(lines[i], static_cast<std::int64_t>(i));
  unsealed.close();
  CHECK(what_of([&] { read_journal(path); }).find("`files` is missing") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
