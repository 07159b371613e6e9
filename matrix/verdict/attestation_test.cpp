#include "matrix/verdict/attestation.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/verdict/attested_run.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using test::attested;
using test::verdict_on_images;
using Texts = std::vector<std::string>;

const std::string kImage = "sha256:" + std::string(64, 'c');
constexpr const char* kNow = "2026-11-28T00:00:00Z";

std::string why_not_attested(const RunVerdict& verdict) {
  const auto made = attestation_of(verdict, std::string(64, '8'), 30);
  const auto* refused = std::get_if<NotAttested>(&made);
  return refused == nullptr ? "" : refused->sentence;
}

TEST_CASE("a run of two images is a test result of the candidate, by its digest", "[attestation]") {
  const nlohmann::json statement = written(attested());
  CHECK(statement.at("_type") == "https://in-toto.io/Statement/v1");
  CHECK(statement.at("predicateType") == "https://in-toto.io/attestation/test-result/v0.1");
  CHECK(statement.at("subject") ==
        nlohmann::json::parse(R"([{"name": "team/new.tar", "digest": {"sha256": ")" + std::string(64, 'c') + "\"}}]"));
  const nlohmann::json& result = statement.at("predicate");
  CHECK(result.at("result") == "PASSED");
  CHECK(result.at("passedTests") == nlohmann::json({"smoke-mlp", "smoke-gpt2"}));
  CHECK(result.at("warnedTests").empty());
  CHECK(result.at("failedTests").empty());
  Texts configuration;
  for (const auto& resource : result.at("configuration")) {
    configuration.push_back(resource.at("name").get<std::string>() + " " + resource.at("digest").dump());
  }
  CHECK(configuration == Texts{"matrix image {\"sha256\":\"" + std::string(64, '1') + "\"}",
                               "reference /srv/old {\"root-sha256\":\"" + std::string(64, '4') + "\"}",
                               "suite smoke {\"sha256\":\"" + std::string(64, '9') + "\"}",
                               "reprobench 0.3.0 {\"sha256\":\"" + std::string(64, '2') + "\"}"});
  const nlohmann::json& run = result.at("reprobench");
  CHECK(run.at("devices") == nlohmann::json({"cpu"}));
  CHECK(run.at("verdict_sha256") == std::string(64, '8'));
  CHECK(run.at("plan_sha256") == std::string(64, '6'));
  CHECK(run.at("journal_sha256") == std::string(64, '7'));
  CHECK(statement.size() == 4);
  CHECK(read_document<Attestation>(statement) == attested());
}

TEST_CASE("it holds for its days from the end of the run, over the end of a year too", "[attestation]") {
  CHECK(attested().predicate.run.expires_utc == "2026-12-27T20:00:00Z");
  CHECK(attested(verdict_on_images(), 35).predicate.run.expires_utc == "2027-01-01T20:00:00Z");
}

TEST_CASE("a failed run is attested as failed, and the image is refused by it", "[attestation]") {
  RunVerdict verdict = verdict_on_images();
  verdict.word = "failed";
  verdict.cells[1].outcome = Outcome::failed;
  const Attestation failed = attested(verdict);
  CHECK(failed.predicate.result == "FAILED");
  CHECK(failed.predicate.failed_tests == Texts{"smoke-gpt2"});
  CHECK(objections_to(failed, {kImage, kNow, ""}) == Texts{"the image failed: " + verdict.sentence});
}

TEST_CASE("what was only recorded, or found in the image, is a warning", "[attestation]") {
  RunVerdict found = verdict_on_images();
  found.images.at("candidate").inspection = "warned";
  CHECK(attested(found).predicate.result == "WARNED");
  CHECK(objections_to(attested(found), {kImage, kNow, ""}).empty());
  RunVerdict recorded = verdict_on_images();
  recorded.cells[1].outcome = Outcome::recorded;
  recorded.totals[Outcome::recorded] = 1;
  CHECK(attested(recorded).predicate.result == "WARNED");
  CHECK(attested(recorded).predicate.warned_tests == Texts{"smoke-gpt2"});
}

TEST_CASE("a drill, a part of a matrix, other settings and an undecided run are no test results", "[attestation]") {
  CHECK(why_not_attested(verdict_on_images()).empty());
  RunVerdict verdict = verdict_on_images();
  verdict.planted = {"weight_ulp at step 20"};
  CHECK(why_not_attested(verdict) == "it is a drill: weight_ulp at step 20");
  verdict = verdict_on_images();
  verdict.request.selected_by = {"--filter mlp"};
  CHECK(why_not_attested(verdict) == "it is no verdict on the image: --filter mlp");
  verdict = verdict_on_images();
  verdict.request.changed_by = {"--repeat 1"};
  CHECK(why_not_attested(verdict) == "it is no verdict on the image: --repeat 1");
  for (const char* word : {"undecided", "nothing_ran", "interrupted"}) {
    verdict = verdict_on_images();
    verdict.word = word;
    CHECK_THAT(why_not_attested(verdict), Contains(std::string("it ended as ") + word));
  }
  for (const char* role : {"candidate", "reference"}) {
    verdict = verdict_on_images();
    verdict.images.erase(role);
    CHECK_THAT(why_not_attested(verdict), Contains("a run of stacks and of no image"));
  }
  verdict = verdict_on_images();
  verdict.word = "failed";
  verdict.info.changed_images = {"candidate"};
  CHECK(why_not_attested(verdict) == "files of candidate were changed during the run");
  verdict = verdict_on_images();
  verdict.seal.reset();
  CHECK_THAT(why_not_attested(verdict), Contains("not sealed"));
  verdict = verdict_on_images();
  verdict.info.ended_utc = "";
  CHECK_THAT(why_not_attested(verdict), Contains("when it ended"));
}

TEST_CASE("another image, and the same digest of another kind, are refused", "[attestation]") {
  CHECK(objections_to(attested(), {kImage, kNow, ""}).empty());
  const std::string other = "sha256:" + std::string(64, 'd');
  CHECK(objections_to(attested(), {other, kNow, ""}) == Texts{"it is of " + kImage + ", and the image is " + other});
  CHECK(objections_to(attested(), {"root-" + kImage, kNow, ""}).size() == 1);
  Attestation two = attested();
  two.subject.push_back(two.subject.front());
  CHECK(objections_to(two, {kImage, kNow, ""}).size() == 1);
}

TEST_CASE("an image that was held against itself or against nothing is refused", "[attestation]") {
  Attestation edited = attested();
  auto& configuration = edited.predicate.configuration;
  const auto reference = std::ranges::find_if(
      configuration, [](const AttestedResource& used) { return used.name.starts_with("reference "); });
  REQUIRE(reference != configuration.end());
  reference->digest = edited.subject.front().digest;
  CHECK(objections_to(edited, {kImage, kNow, ""}) == Texts{"the image was held against itself"});
  configuration.erase(reference);
  CHECK(objections_to(edited, {kImage, kNow, ""}) == Texts{"it names no reference"});
}

TEST_CASE("it counts from the end of its run and no longer than its days", "[attestation]") {
  CHECK(objections_to(attested(), {kImage, "2026-11-27T20:00:00Z", ""}).empty());
  CHECK(objections_to(attested(), {kImage, "2026-11-27T19:59:59Z", ""}) ==
        Texts{"its run ends at 2026-11-27T20:00:00Z, which is yet to come"});
  CHECK(objections_to(attested(), {kImage, "2026-12-27T19:59:59Z", ""}).empty());
  CHECK(objections_to(attested(), {kImage, "2026-12-27T20:00:00Z", ""}) == Texts{"it expired at 2026-12-27T20:00:00Z"});
}

TEST_CASE("another matrix than the one that is asked for is refused, and so is a digest of something else",
          "[attestation]") {
  const std::map<std::string, std::string> suites = {{"memory", std::string(64, '8')}, {"smoke", std::string(64, '9')}};
  CHECK(objections_to(attested(), {kImage, kNow, std::string(64, '1'), suites}).empty());
  const Texts refused = {"it is of another matrix than sha256:" + std::string(64, '2')};
  CHECK(objections_to(attested(), {kImage, kNow, std::string(64, '2'), suites}) == refused);  // the program's
}

TEST_CASE("the matrix that is asked for, with suites that ask something else, is another one", "[attestation]") {
  const std::string matrix(64, '1');
  const Texts refused = {"its suite smoke is another one than this checkout has"};
  CHECK(objections_to(attested(), {kImage, kNow, matrix, {{"smoke", std::string(64, '8')}}}) == refused);
  CHECK(objections_to(attested(), {kImage, kNow, matrix, {{"memory", std::string(64, '9')}}}) == refused);
  CHECK(objections_to(attested(), {kImage, kNow, ""}).empty());  // any matrix
  RunVerdict without = verdict_on_images();
  without.suites.clear();
  CHECK(objections_to(attested(without), {kImage, kNow, matrix}) ==
        Texts{"it names no suite, so what the matrix asked is not known"});
}

TEST_CASE("nobody makes it hold for longer than a year", "[attestation]") {
  CHECK(objections_to(attested(verdict_on_images(), kMostValidDays), {kImage, kNow, ""}).empty());
  CHECK(objections_to(attested(verdict_on_images(), kMostValidDays + 1), {kImage, kNow, ""}) ==
        Texts{"it holds for more than 366 days"});
}

TEST_CASE("a word does not outweigh the tests, and no test is no result", "[attestation]") {
  Attestation edited = attested();
  edited.predicate.failed_tests = {"smoke-gpt2"};
  CHECK_THAT(objections_to(edited, {kImage, kNow, ""}).at(0), Contains("the image failed"));
  edited = attested();
  edited.predicate.passed_tests.clear();
  CHECK(objections_to(edited, {kImage, kNow, ""}) == Texts{"no cell passed"});
  edited.predicate.result = "FAILED";
  edited.predicate.run.expires_utc = "2026-11-27T20:00:01Z";
  CHECK(objections_to(edited, {"sha256:0", kNow, ""}).size() == 4);
}

TEST_CASE("moments have one form, and exist", "[attestation]") {
  CHECK(is_utc_moment("2026-11-27T20:00:00Z"));
  CHECK(is_utc_moment("2028-02-29T00:00:00Z"));
  for (const char* text :
       {"", "2026-11-27", "2026-11-27T20:00:00", "2026-11-27T20:00:00Z ", " 2026-11-27T20:00:00Z",
        "2026-11-31T20:00:00Z", "2027-02-29T00:00:00Z", "2026-1-27T20:00:00Z", "2026-11-27T20:00:00+01:00"}) {
    CAPTURE(text);
    CHECK_FALSE(is_utc_moment(text));
  }
  nlohmann::json statement = written(attested());
  statement["predicate"]["reprobench"]["expires_utc"] = "never";
  CHECK_THROWS_WITH(read_document<Attestation>(statement), Contains("its moments are no UTC times"));
}

}  // namespace
}  // namespace reprobench
