#include "matrix/record/result_index.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/run_documents.hpp"
#include "matrix/record/sample_attempt.hpp"
#include "matrix/record/sqlite_database.hpp"
#include "matrix/record/verdict_seal.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json sample_verdict(const std::string& word) {
  const json check = {{"metric", "throughput.step_time"},
                      {"status", "failed"},
                      {"reason", "over_bound"},
                      {"measured", 110.0},
                      {"reference", 100.0},
                      {"ratio", 1.1},
                      {"unit", "ns"}};
  json unmeasured = check;
  unmeasured["measured"] = nullptr;
  unmeasured["ratio"] = "nan";
  const json cell = {{"cell_id", "3f9c1e0a7b52"},        {"slug", "smoke-mlp"},   {"outcome", "failed"},
                     {"reason", "throughput.step_time"}, {"workload_digest", ""}, {"chain", ""},
                     {"checks", {check, unmeasured}}};
  return {{"matrix", "sample"}, {"word", word}, {"exit_code", 1}, {"cells", {cell}}};
}

struct IndexedStore {
  json run_named(const std::string& run_id, const std::string& started_utc) const {
    RunInfo info;
    info.run_id = run_id;
    info.started_utc = started_utc;
    return run_document(info);
  }
  // A run directory as far as the index looks at it.
  void write_run(const std::string& run_id, const std::string& started_utc) const {
    const fs::path folder = store.path / "runs" / run_id;
    fs::create_directories(folder);
    std::ofstream(folder / "run.json") << run_named(run_id, started_utc).dump();
    seal(run_id, sample_verdict("failed").dump());
  }
  void seal(const std::string& run_id, const std::string& verdict) const {
    const fs::path folder = store.path / "runs" / run_id;
    std::ofstream(folder / "journal.jsonl") << trace_line(written(JournalHeader{run_id, std::string(64, '0')}), 0);
    write_sealed_verdict(folder, verdict);
  }
  std::string refusal() const {
    return message_of<StoreError>([&] { ResultIndex(store.path).runs(); });
  }
  std::string expected(const std::string& check) const {
    return "index.db is not a reprobench store (" + check +
           "); run directories are intact, run `reprobench db rebuild`";
  }
  fs::path index_file() const { return store.path / "index.db"; }

  TemporaryFolder store;
};

TEST_CASE("a run is indexed once, however often it is added, and the newest comes first", "[record]") {
  IndexedStore scene;
  ResultIndex index(scene.store.path);
  index.add_run("/runs/r1", scene.run_named("r1", "2026-01-01T00:00:00Z"), nullptr);
  CHECK(index.runs().at(0).verdict.empty());
  for (int i = 0; i < 2; ++i) {
    index.add_run("/runs/r1", scene.run_named("r1", "2026-01-01T00:00:00Z"), sample_verdict("failed"));
  }
  index.add_run("/runs/r2", scene.run_named("r2", "2026-01-02T00:00:00Z"), sample_verdict("passed"));
  const auto runs = index.runs();
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].run_id == "r2");
  CHECK(runs[1].verdict == "failed");
  CHECK(runs[1].exit_code == 1);
  CHECK(runs[1].cells == 1);
}

TEST_CASE("cells and checks are stored, and a number that is missing is NULL", "[record]") {
  IndexedStore scene;
  {
    ResultIndex index(scene.store.path);
    index.add_run("/runs/r1", scene.run_named("r1", ""), sample_verdict("failed"));
  }
  sqlite3* db = open_database(scene.index_file().string(), false);
  CHECK(query_integer(db, "SELECT count(*) FROM cells") == 1);
  CHECK(query_integer(db, "SELECT count(*) FROM checks") == 2);
  CHECK(query_integer(db, "SELECT count(*) FROM checks WHERE measured IS NULL") == 1);
  CHECK(query_integer(db, "PRAGMA journal_mode = wal") == 0);
  sqlite3_close(db);
}

// The values of one row, with a bar between them.
std::string row_of(const fs::path& index, const std::string& sql, int columns) {
  sqlite3* db = open_database(index.string(), false);
  std::string row;
  {
    Statement select(db, sql);
    REQUIRE(select.step());
    for (int column = 0; column < columns; ++column) row += select.text(column) + "|";
  }
  sqlite3_close(db);
  return row;
}

TEST_CASE("every field of a run, its cells and its checks stands in its own column", "[record]") {
  IndexedStore scene;
  json verdict = sample_verdict("failed");
  verdict["cells"][0]["workload_digest"] = "aa";
  verdict["cells"][0]["chain"] = "bb";
  {
    ResultIndex index(scene.store.path);
    index.add_run("/runs/r1", scene.run_named("r1", "2026-01-01T00:00:00Z"), verdict);
    const IndexedRun run = index.runs().at(0);
    CHECK(run.run_id == "r1");
    CHECK(run.folder == "/runs/r1");
    CHECK(run.matrix == "sample");
    CHECK(run.started_utc == "2026-01-01T00:00:00Z");
  }
  CHECK(row_of(scene.index_file(), "SELECT * FROM cells", 7) ==
        "r1|3f9c1e0a7b52|smoke-mlp|failed|throughput.step_time|aa|bb|");
  CHECK(row_of(scene.index_file(), "SELECT * FROM checks WHERE measured IS NOT NULL", 9) ==
        "r1|3f9c1e0a7b52|throughput.step_time|failed|over_bound|110.0|100.0|1.1|ns|");
  CHECK(row_of(scene.index_file(), "SELECT * FROM checks WHERE measured IS NULL", 9) ==
        "r1|3f9c1e0a7b52|throughput.step_time|failed|over_bound||100.0||ns|");
}

TEST_CASE("a run that is added again keeps no cell of before, and no other run loses one", "[record]") {
  IndexedStore scene;
  {
    ResultIndex index(scene.store.path);
    index.add_run("/runs/r1", scene.run_named("r1", ""), sample_verdict("failed"));
    index.add_run("/runs/r2", scene.run_named("r2", ""), sample_verdict("failed"));
    json without = sample_verdict("passed");
    without["cells"] = json::array();
    index.add_run("/runs/r1", scene.run_named("r1", ""), without);
  }
  CHECK(row_of(scene.index_file(), "SELECT count(*), min(run_id) FROM cells", 2) == "1|r2|");
  CHECK(row_of(scene.index_file(), "SELECT count(*), min(run_id) FROM checks", 2) == "2|r2|");
}

TEST_CASE("a database is made only where that is asked for, and of two runs of one second the later name comes first",
          "[record]") {
  IndexedStore scene;
  CHECK_THROWS_AS(open_database((scene.store.path / "none.db").string(), false), SqliteError);
  CHECK_FALSE(fs::exists(scene.store.path / "none.db"));
  CHECK(indexed_runs(scene.store.path).empty());
  CHECK_FALSE(fs::exists(scene.index_file()));  // no store is made by reading
  ResultIndex index(scene.store.path);
  index.add_run("/runs/r1", scene.run_named("r1", "2026-01-01T00:00:00Z"), nullptr);
  index.add_run("/runs/r2", scene.run_named("r2", "2026-01-01T00:00:00Z"), nullptr);
  CHECK(indexed_runs(scene.store.path).at(0).run_id == "r2");
  CHECK(fs::exists(scene.index_file()));
  CHECK(std::distance(fs::directory_iterator(scene.store.path), fs::directory_iterator()) ==
        4);  // and -wal, -shm, .lock
}

TEST_CASE("a value changed in any column of a run is noticed", "[record]") {
  IndexedStore scene;
  ResultIndex(scene.store.path).add_run("/runs/r1", scene.run_named("r1", ""), sample_verdict("failed"));
  sqlite3* db = open_database(scene.index_file().string(), false);
  const std::string change = GENERATE(as<std::string>(), "folder = '/elsewhere'", "matrix = 'other'",
                                      "started_utc = '2027'", "verdict = 'passed'", "exit_code = 0", "cells = 2");
  execute_sql(db, "UPDATE runs SET " + change);
  sqlite3_close(db);
  CHECK(scene.refusal() == scene.expected("checksum of run r1"));
}

TEST_CASE("a run with the same cell twice is named by a rebuild, and the others are in the index", "[record]") {
  IndexedStore scene;
  for (const char* name : {"r1", "r2", "r3"}) scene.write_run(name, "2026-01-01T00:00:00Z");
  json twice = sample_verdict("passed");
  twice["cells"].push_back(twice["cells"][0]);
  scene.seal("r2", twice.dump());
  fs::create_directories(scene.store.path / "runs" / ".r4");  // being built
  fs::create_directories(scene.store.path / "runs" / "r5");   // it died before it was a run (#41)
  std::vector<std::string> problems;
  CHECK(ResultIndex::rebuild(scene.store.path, &problems) == 2);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].starts_with((scene.store.path / "runs" / "r2").string() + ": UNIQUE constraint failed: cells."));
  const auto runs = ResultIndex(scene.store.path).runs();
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].run_id == "r3");
  CHECK(runs[1].run_id == "r1");
}

TEST_CASE("a verdict that is not the one that was judged is in no list of runs, and a rebuild names it", "[record]") {
  IndexedStore scene;
  for (const char* name : {"r1", "r2", "r3"}) scene.write_run(name, "2026-01-01T00:00:00Z");
  const fs::path runs = scene.store.path / "runs";
  std::ofstream(runs / "r2" / "verdict.json") << sample_verdict("passed").dump();
  fs::remove(runs / "r3" / "journal.jsonl");
  const auto words = [&] {
    std::string text;
    for (const IndexedRun& run : indexed_runs(scene.store.path)) text += run.run_id + "=" + run.verdict + " ";
    return text;
  };
  std::vector<std::string> problems;
  CHECK(ResultIndex::rebuild(scene.store.path, &problems) == 2);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0] == (runs / "r2" / "verdict.json changed since it was judged").string());
  CHECK(problems[1].starts_with((runs / "r3" / "journal.jsonl: ").string()));
  CHECK(words() == "r2= r1=failed ");
}

TEST_CASE("a verdict that misses a field changes nothing", "[record]") {
  IndexedStore scene;
  ResultIndex index(scene.store.path);
  json verdict = sample_verdict("failed");
  verdict["cells"][0]["checks"][1].erase("unit");
  CHECK_THROWS(index.add_run("/runs/r1", scene.run_named("r1", ""), verdict));
  CHECK(index.runs().empty());
}

TEST_CASE("F37: whatever is no index of ours is refused by name", "[record]") {
  IndexedStore scene;
  const fs::path file = scene.index_file();
  SECTION("garbage") {
    std::ofstream(file) << std::string(8192, 'x');
    CHECK(scene.refusal() == scene.expected("SQLite 26"));
  }
  SECTION("nothing in it") {
    std::ofstream(file) << "";
    CHECK(scene.refusal() == scene.expected("0 bytes"));
  }
  SECTION("another program's database") {
    sqlite3* db = open_database(file.string(), true);
    execute_sql(db, "CREATE TABLE t (x)");
    sqlite3_close(db);
    CHECK(scene.refusal() == scene.expected("application_id 0"));
  }
  SECTION("a newer schema") {
    ResultIndex(scene.store.path);
    sqlite3* db = open_database(file.string(), false);
    execute_sql(db, "PRAGMA user_version = 2");
    sqlite3_close(db);
    CHECK(scene.refusal() == scene.expected("schema 2, this version reads 1"));
  }
  SECTION("cut") {
    ResultIndex(scene.store.path);
    fs::resize_file(file, fs::file_size(file) / 2);
    CHECK(scene.refusal() == scene.expected("SQLite 11"));
  }
  SECTION("a changed value") {
    ResultIndex(scene.store.path).add_run("/runs/r1", scene.run_named("r1", ""), sample_verdict("failed"));
    sqlite3* db = open_database(file.string(), false);
    execute_sql(db, "UPDATE runs SET verdict = 'passed'");
    sqlite3_close(db);
    CHECK(scene.refusal() == scene.expected("checksum of run r1"));
  }
}

TEST_CASE("an index is rebuilt from the run directories, even one that cannot be opened", "[record]") {
  IndexedStore scene;
  scene.write_run("r1", "2026-01-01T00:00:00Z");
  scene.write_run("r2", "2026-01-02T00:00:00Z");
  fs::create_directories(scene.store.path / "runs" / "broken");
  std::ofstream(scene.store.path / "runs" / "broken" / "run.json") << "{";
  std::ofstream(scene.index_file()) << std::string(8192, 'x');
  std::ofstream(scene.store.path / "index.db-wal") << "of the old file";
  std::vector<std::string> problems;
  CHECK(ResultIndex::rebuild(scene.store.path, &problems) == 2);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("broken") != std::string::npos);
  ResultIndex index(scene.store.path);
  CHECK(index.runs().size() == 2);
  scene.write_run("r3", "2026-01-03T00:00:00Z");
  CHECK(index.rebuild() == 3);
  CHECK(index.runs().at(0).run_id == "r3");
}

TEST_CASE("#41: the new index needs no log of its own, and the old one loses nothing to a rebuild that fails",
          "[record]") {
  IndexedStore scene;
  scene.write_run("r1", "2026-01-01T00:00:00Z");
  {
    // As a writer leaves it that was killed: committed, and still in the log alone.
    ResultIndex index(scene.store.path);
    index.add_run("/runs/r1", scene.run_named("r1", ""), sample_verdict("failed"));
    fs::copy_file(scene.index_file(), scene.store.path / "killed.db");
    fs::copy_file(scene.index_file().string() + "-wal", scene.store.path / "killed.db-wal");
  }
  fs::rename(scene.store.path / "killed.db", scene.index_file());
  fs::rename(scene.store.path / "killed.db-wal", scene.index_file().string() + "-wal");
  SECTION("it fails at the last moment") {
    // A folder in place of the shared memory: the log cannot be taken in, and is not removed either.
    fs::create_directories(scene.index_file().string() + "-shm/kept");
    CHECK_THROWS(ResultIndex::rebuild(scene.store.path));
    fs::remove_all(scene.index_file().string() + "-shm");
    CHECK_FALSE(fs::exists(scene.store.path / fmt::format(".index.{}.db", getpid())));
  }
  SECTION("it does not") {
    CHECK(ResultIndex::rebuild(scene.store.path) == 1);
    CHECK_FALSE(fs::exists(scene.index_file().string() + "-wal"));
  }
  const ResultIndex index(scene.store.path);
  REQUIRE(index.runs().size() == 1);
  CHECK(index.runs().front().verdict == "failed");
}

TEST_CASE("no index is swapped under an open one", "[record]") {
  IndexedStore scene;
  const ResultIndex index(scene.store.path);
  CHECK_THROWS_AS(ResultIndex::rebuild(scene.store.path), StoreError);
}

TEST_CASE("a rebuild waits for a writer, and then has what that wrote", "[record]") {
  IndexedStore scene;
  auto writer = std::make_optional<ResultIndex>(scene.store.path);
  scene.write_run("late", "2026-01-09T00:00:00Z");
  int found = 0;
  std::atomic<bool> is_done = false;
  std::thread rebuilding([&] {
    found = ResultIndex::rebuild(scene.store.path);
    is_done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK_FALSE(is_done);
  writer->add_run(scene.store.path / "runs/late", scene.run_named("late", "2026-01-09T00:00:00Z"),
                  sample_verdict("passed"));
  const auto released = std::chrono::steady_clock::now();
  writer.reset();
  rebuilding.join();
  CHECK(std::chrono::steady_clock::now() - released < std::chrono::seconds(4));
  const auto runs = ResultIndex(scene.store.path).runs();
  CHECK(static_cast<int>(runs.size()) == found);
  CHECK(runs.front().run_id == "late");
}

TEST_CASE("a writer waits for another one's transaction to end", "[record]") {
  IndexedStore scene;
  ResultIndex index(scene.store.path);
  sqlite3* other = open_database(scene.index_file(), false);
  std::string problem;
  {
    Transaction held(other);
    std::thread writing([&] {
      try {
        index.add_run("/runs/r", scene.run_named("r", ""), sample_verdict("passed"));
      } catch (const std::exception& error) {
        problem = error.what();
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    held.commit();
    writing.join();
  }
  sqlite3_close(other);
  CHECK(problem.empty());
  CHECK(index.runs().size() == 1);
}

TEST_CASE("#41: a store may be a link, and its index may not", "[record]") {
  IndexedStore scene;
  const fs::path link = scene.store.path / "link";
  scene.write_run("r1", "2026-01-01T00:00:00Z");
  fs::create_directory_symlink(scene.store.path, link);
  CHECK(ResultIndex::rebuild(link) == 1);
  CHECK(ResultIndex(link).runs().size() == 1);
  fs::rename(scene.store.path / "index.db", scene.store.path / "elsewhere.db");
  fs::create_symlink(scene.store.path / "elsewhere.db", scene.store.path / "index.db");
  CHECK_THROWS_AS(ResultIndex(link).runs(), StoreError);
}

TEST_CASE("F23: two writers of one index lose nothing", "[record]") {
  IndexedStore scene;
  ResultIndex first(scene.store.path);
  ResultIndex second(scene.store.path);
  for (int i = 0; i < 50; ++i) {
    ResultIndex& index = i % 2 == 0 ? first : second;
    index.add_run("/runs/r", scene.run_named("r" + std::to_string(i), ""), sample_verdict("passed"));
  }
  CHECK(first.runs().size() == 50);
}

}  // namespace
}  // namespace reprobench
