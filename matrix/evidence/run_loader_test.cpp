#include <fstream>

#include "ci/catch.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

TEST_CASE("what was run and how it ended comes back from the files", "[evidence]") {
  TemporaryFolder store;
  SampleAttempt sample;
  RunInfo info = sample_info();
  fs::path folder;
  {
    RunDirectory run = RunDirectory::create(store.path, std::nullopt, info, sample_plan(sample));
    folder = run.folder();
    sample.write(run.begin_attempt(sample.request) / "rank-0");
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
  const auto request =
      nlohmann::json::parse(read_file(folder / record.cells[0].attempts[0].lead().folder / "request.json"));
  CHECK(request_from_json(request).nonce == "0123456789abcdef");
}

TEST_CASE("an end that only the runner knew comes back as it was, a hang as a hang", "[evidence]") {
  for (const AttemptEnd end : {AttemptEnd::timeout, AttemptEnd::hang, AttemptEnd::launch, AttemptEnd::store,
                               AttemptEnd::lost, AttemptEnd::interrupted}) {
    TemporaryFolder store;
    SampleAttempt sample;
    fs::path folder;
    {
      RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
      folder = run.folder();
      run.begin_attempt(sample.request);
      run.end_attempt(sample.request, end, "as the runner saw it");
    }
    const RunRecord record = load_run(folder.string());
    const AttemptRecord& attempt = record.cells.at(0).attempts.at(0);
    CHECK(attempt.end == end);
    CHECK(attempt.detail == "as the runner saw it");
  }
}

TEST_CASE("an end that the files tell is read from them again, whatever the journal says", "[evidence]") {
  TemporaryFolder store;
  SampleAttempt sample;
  fs::path folder;
  {
    RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
    folder = run.folder();
    sample.exit.exit_code = 1;
    sample.write(run.begin_attempt(sample.request) / "rank-0");
    run.end_attempt(sample.request, AttemptEnd::completed, "exit code 0");
  }
  const RunRecord record = load_run(folder.string());
  CHECK(record.cells.at(0).attempts.at(0).end != AttemptEnd::completed);
}

TEST_CASE("a journal cut in its last line loses that line alone", "[evidence]") {
  TemporaryFolder store;
  SampleAttempt sample;
  fs::path folder;
  {
    RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
    folder = run.folder();
    sample.write(run.begin_attempt(sample.request) / "rank-0");
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

TEST_CASE("a folder that is no run is named", "[evidence]") {
  TemporaryFolder folder;
  CHECK(what_of([&] { load_run(folder.path.string()); }) ==
        folder.path.string() + " is not a run directory: run.json is missing");
  std::ofstream(folder.path / "run.json") << "{";
  CHECK(what_of([&] { load_run(folder.path.string()); }).find("run.json: ") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
