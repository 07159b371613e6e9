#include "matrix/record/verdict_seal.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/record/run_documents.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

// A run that has ended, whose one attempt says in its own words what a line of a verdict looks like.
struct EndedRun {
  EndedRun() {
    const SampleAttempt sample;
    RunDirectory run = RunDirectory::create(store.path, std::nullopt, sample_info(), sample_plan(sample));
    folder = run.folder();
    sample.write(run.begin_attempt(sample.request) / "rank-0");
    run.end_attempt(sample.request, AttemptEnd::crash, "stderr: \"kind\":\"verdict\"");
    seal = run.finish(sample_info());
  }
  std::filesystem::path verdict() const { return folder / "verdict.json"; }
  std::filesystem::path journal() const { return folder / "journal.jsonl"; }

  TemporaryFolder store;
  std::filesystem::path folder;
  RunSeal seal;
};

TEST_CASE("a verdict that is not the one that was judged is broken, by whatever it differs", "[record]") {
  const EndedRun run;
  CHECK(broken_verdict(run.folder).empty());
  write_sealed_verdict(run.folder, "{\"word\": \"failed\"}\n");
  CHECK(broken_verdict(run.folder).empty());
  CHECK(read_journal(run.journal()).verdict_sha256 == sha256_of_text(read_file(run.verdict())));
  for (const char* other : {"{\"word\": \"passed\"}\n", "{\"word\": \"failed\"}", ""}) {
    std::ofstream(run.verdict()) << other;
    CHECK(broken_verdict(run.folder) == "verdict.json changed since it was judged");
  }
  std::filesystem::remove(run.verdict());
  CHECK(broken_verdict(run.folder).empty());
}

TEST_CASE("of several verdicts the last is the one that counts, and none changes what the run is sealed by",
          "[record]") {
  const EndedRun run;
  const std::string before = read_file(run.journal());
  for (const char* text : {"first", "second"}) {
    write_sealed_verdict(run.folder, text);
    CHECK(broken_verdict(run.folder).empty());
    CHECK(seal_of_run(run.folder) == run.seal);
  }
  std::ofstream(run.verdict()) << "first";
  CHECK_FALSE(broken_verdict(run.folder).empty());
  CHECK(journal_before_verdicts(read_file(run.journal())) == before);
  CHECK(read_journal(run.journal()).attempts.size() == 1);
}

TEST_CASE("a journal whose last line was cut loses what is left of it when the run is judged", "[record]") {
  const EndedRun run;
  const std::string whole = read_file(run.journal());
  const std::string before = whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1);
  std::filesystem::resize_file(run.journal(), whole.size() - 5);
  const RunSeal seal = seal_of_run(run.folder);
  write_sealed_verdict(run.folder, "text");
  CHECK(read_file(run.journal()).starts_with(before + "{\"kind\":\"verdict\""));
  CHECK(seal_of_run(run.folder) == seal);
  CHECK(broken_verdict(run.folder).empty());
  std::ofstream(run.verdict()) << "other";
  CHECK(broken_verdict(run.folder) == "verdict.json changed since it was judged");
}

TEST_CASE("a verdict whose line cannot be written is not there", "[record]") {
  const EndedRun run;
  std::filesystem::remove(run.journal());
  std::filesystem::create_directory(run.journal());
  CHECK_THROWS_AS(write_sealed_verdict(run.folder, "text"), StoreError);
  CHECK_FALSE(std::filesystem::exists(run.verdict()));
}

TEST_CASE("a verdict without its line in the journal is broken, however the line was lost", "[record]") {
  const EndedRun run;
  const auto bytes = std::filesystem::file_size(run.journal());
  write_sealed_verdict(run.folder, "text");
  const auto with_line = std::filesystem::file_size(run.journal());
  for (const auto cut : {with_line - 1, with_line - 20, bytes + 1, bytes}) {
    std::filesystem::resize_file(run.journal(), cut);
    CHECK(seal_of_run(run.folder) == run.seal);
    CHECK(broken_verdict(run.folder) ==
          "verdict.json has no line in journal.jsonl that vouches for it; `report --rejudge` judges what there is");
  }
}

}  // namespace
}  // namespace reprobench
