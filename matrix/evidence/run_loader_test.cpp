#include <fstream>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/record/sample_attempt.hpp"
#include "matrix/record/verdict_seal.hpp"

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
  CHECK(record.cells.at(0).attempts.at(0).end == AttemptEnd::nonzero);
  CHECK(record.cells.at(0).attempts.at(0).detail == "exit code 1; last step 3");
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
  CHECK(what_of([&] { load_run(folder.string()); }).starts_with((folder / "journal.jsonl:1: checksum is ").string()));
}

TEST_CASE("a folder that is no run is named", "[evidence]") {
  TemporaryFolder folder;
  CHECK(what_of([&] { load_run(folder.path.string()); }) ==
        folder.path.string() + " is not a run directory: run.json is missing");
  std::ofstream(folder.path / "run.json") << "{";
  CHECK(what_of([&] { load_run(folder.path.string()); }).find("run.json: ") != std::string::npos);
}

// A run of one completed attempt, with the verdict that was made of it.
struct SealedRun {
  SealedRun() {
    const SampleAttempt sample;
    RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
    folder = run.folder();
    attempt = run.begin_attempt(sample.request);
    sample.write(attempt / "rank-0");
    run.end_attempt(sample.request, AttemptEnd::completed, "exit code 0");
    const RunSeal seal = run.finish(sample_info());
    nlohmann::json verdict = document("verdict");
    verdict["seal"] = written(seal);
    verdict["info"] = to_json(sample_info());
    write_sealed_verdict(folder, verdict.dump());
  }
  AttemptRecord loaded() const { return load_run(folder.string()).cells.at(0).attempts.at(0); }

  TemporaryFolder store;
  fs::path folder;
  fs::path attempt;
};

TEST_CASE("an attempt's files are sealed: one that changed, went or came is named and decides nothing", "[evidence]") {
  const SealedRun run;
  CHECK(run.loaded().end == AttemptEnd::completed);
  CHECK(changed_since_judged(run.folder.string()).empty());
  std::string expected;
  SECTION("one that nobody judges by") {
    std::ofstream(run.attempt / "rank-0" / "request.json", std::ios::app) << "\n";
    expected = "rank-0/request.json changed since it was judged";
  }
  SECTION("of the same size") {
    std::string text = read_file(run.attempt / "rank-0" / "result.json");
    text.at(text.find("\"peak_rss_bytes\":0") + 17) = '1';
    std::ofstream(run.attempt / "rank-0" / "result.json") << text;
    expected = "rank-0/result.json changed since it was judged";
  }
  SECTION("missing") {
    fs::remove(run.attempt / "rank-0" / "trace.jsonl");
    expected = "rank-0/trace.jsonl is missing since it was judged";
  }
  SECTION("now a link") {
    fs::rename(run.attempt / "rank-0" / "trace.jsonl", run.store.path / "elsewhere");
    fs::create_symlink(run.store.path / "elsewhere", run.attempt / "rank-0" / "trace.jsonl");
    expected = "rank-0/trace.jsonl is missing since it was judged";
  }
  SECTION("new") {
    std::ofstream(run.attempt / "telemetry.jsonl") << "{}";
    expected = "telemetry.jsonl appeared since it was judged";
  }
  SECTION("all of it") {
    fs::remove_all(run.attempt);
    CHECK(run.loaded().detail == "its folder is missing since it was judged");
    return;
  }
  CHECK(run.loaded().end == AttemptEnd::store);
  CHECK(run.loaded().detail == expected);
  const std::string folder = run.attempt.lexically_relative(run.folder).string();
  CHECK(changed_since_judged(run.folder.string()) == std::vector{folder + "/" + expected});
}

TEST_CASE("an attempt whose end the journal does not have is lost, though all its files are there", "[evidence]") {
  const SealedRun run;
  fs::remove(run.folder / "verdict.json");  // which would not hold for the journal that is cut
  const std::string journal = read_file(run.folder / "journal.jsonl");
  const std::size_t second_line =
      journal.find('\n', journal.find('\n') + 1) + 1;  // the plan's, and the attempt's start
  std::ofstream(run.folder / "journal.jsonl") << journal.substr(0, second_line);
  CHECK(run.loaded().end == AttemptEnd::lost);
  CHECK(run.loaded().detail == "the journal does not say how it ended");
}

TEST_CASE("what was said of an image is not known without the inspection that the plan names", "[evidence]") {
  const TemporaryFolder store;
  const std::string inspection = "{\"word\": \"clean\"}\n";
  Plan plan = sample_plan(SampleAttempt());
  plan.images["candidate"] = {"new.tar", "sha256:0c", "clean", "clean: 0 failures", sha256_of_text(inspection)};
  RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), plan);
  run.keep_input("inspection-candidate.json", inspection);
  run.finish(sample_info());
  const std::string folder = run.folder().string();
  CHECK(load_run(folder).plan.images == plan.images);
  CHECK(changed_since_judged(folder).empty());
  const fs::path kept = run.folder() / "inputs/inspection-candidate.json";
  const bool is_gone = GENERATE(true, false);
  is_gone ? static_cast<void>(fs::remove(kept)) : static_cast<void>(std::ofstream(kept) << "{\"word\": \"clean\"}");
  const PlanImage image = load_run(folder).plan.images.at("candidate");
  CHECK(image.inspection == "undecided");
  CHECK(image.summary == "inputs/inspection-candidate.json is missing or changed");
  CHECK(image.digest == "sha256:0c");
  CHECK(changed_since_judged(folder) ==
        std::vector<std::string>{"inputs/inspection-candidate.json is missing or changed"});
}

TEST_CASE("a plan that changed since it was judged is refused, with a verdict and without", "[evidence]") {
  const SealedRun run;
  const bool has_verdict = GENERATE(true, false);
  if (!has_verdict) fs::remove(run.folder / "verdict.json");
  const std::string expected = (run.folder / "plan.json").string() + " changed since it was judged";
  for (int change = 0; change < 8; ++change) {  // into sums above and below the sealed one
    std::ofstream(run.folder / "plan.json", std::ios::app) << "\n";
    CHECK(what_of([&] { load_run(run.folder.string()); }) == expected);
    CHECK(what_of([&] { changed_since_judged(run.folder.string()); }) == expected);
  }
}

TEST_CASE("a journal that changed since the verdict was made of it is refused", "[evidence]") {
  const SealedRun run;
  const std::string journal = read_file(run.folder / "journal.jsonl");
  const std::string_view before = journal_before_verdicts(journal);
  fs::resize_file(run.folder / "journal.jsonl", before.size());
  CHECK(what_of([&] { load_run(run.folder.string()); }) ==
        (run.folder / "verdict.json").string() +
            " has no line in journal.jsonl that vouches for it; `report --rejudge` judges what there is");
  fs::resize_file(run.folder / "journal.jsonl", before.rfind('\n', before.size() - 2) + 1);
  CHECK(what_of([&] { load_run(run.folder.string()); }) ==
        (run.folder / "journal.jsonl").string() + " changed since it was judged");
  fs::remove(run.folder / "verdict.json");
  CHECK(run.loaded().end == AttemptEnd::completed);
}

TEST_CASE("a word of run.json that changed since the verdict was made of it is refused", "[evidence]") {
  const SealedRun run;
  const fs::path file = run.folder / "run.json";
  nlohmann::json info = nlohmann::json::parse(read_file(file));
  write_file_atomically(file, info.dump());  // the same in other blanks
  CHECK(run.loaded().end == AttemptEnd::completed);
  info["interrupted"] = !info.at("interrupted").get<bool>();
  write_file_atomically(file, info.dump());
  const std::string expected = file.string() + " changed since it was judged";
  CHECK(what_of([&] { load_run(run.folder.string()); }) == expected);
  CHECK(what_of([&] { changed_since_judged(run.folder.string()); }) == expected);
  fs::remove(run.folder / "verdict.json");
  CHECK(run.loaded().end == AttemptEnd::completed);
}

TEST_CASE("a run of contract 2.0 is read, and one of contract 1 is refused by the file that says so", "[evidence]") {
  const fs::path golden = REPROBENCH_SOURCE_ROOT "/matrix/contract/testdata/2.0/run";
  const RunRecord run = load_run(golden.string());
  REQUIRE(run.cells.size() == 2);
  for (const CellRecord& cell : run.cells) {
    REQUIRE(cell.attempts.size() == 1);
    CHECK(cell.attempts[0].detail == "exit code 0");
    CHECK(cell.attempts[0].end == AttemptEnd::completed);
  }
  const TemporaryFolder older;
  fs::copy(golden, older.path, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  for (const char* name : {"verdict", "plan", "run"}) {
    const fs::path file = older.path / (std::string(name) + ".json");
    nlohmann::json document = nlohmann::json::parse(read_file(file));
    document["version"] = {{"major", 1}, {"minor", 4}};
    std::ofstream(file) << document.dump();
    INFO(name);
    const std::string said = what_of([&] { load_run(older.path.string()); });
    CHECK(said == fmt::format("{}: {}: version 1.4 cannot be read by contract 2.0; reprobench 0.2.0 is the last that "
                              "reads it",
                              file.string(), name));
  }
}

TEST_CASE("a cell that is planned twice is refused", "[evidence]") {
  TemporaryFolder store;
  const SampleAttempt sample;
  Plan plan = sample_plan(sample);
  plan.cells.push_back(plan.cells.front());
  const RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), plan);
  CHECK(what_of([&] { load_run(run.folder().string()); }) ==
        (run.folder() / "plan.json").string() + ": cell 3f9c1e0a7b52 is planned twice");
}

}  // namespace
}  // namespace reprobench
