#include "ci/catch.hpp"
#include "matrix/cli/suite_digests.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/image/image_fixture.hpp"
#include "matrix/verdict/attested_run.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

constexpr const char* kNow = "2026-11-28T00:00:00Z";

// An image that was qualified, as far as its attestation says.
struct Promoted {
  explicit Promoted(const std::string& content = "1")
      : image(written_file(project / "image.tar", test::tar_of(test::docker_archive(plan_with(content))))) {
    const auto read = read_image(image, project / "staging", is_evidence);
    attestation = write(test::attested(test::verdict_on_images(read.digest)));
  }
  static test::ImagePlan plan_with(const std::string& content) {
    test::ImagePlan plan;
    plan.layers = {{{"etc/release", content}}};
    return plan;
  }
  std::string write(const Attestation& said) const {
    return written_file(project / "attestation.json", written(said).dump());
  }
  Said verify(const std::string& at, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {attestation, image, "--at", at};
    words.insert(words.end(), more.begin(), more.end());
    return said_by(&declare_verify, project.store(), words);
  }

  SmallProject project;
  std::string image;
  std::string attestation;
};

TEST_CASE("the image that was qualified may be promoted while the attestation holds", "[cli]") {
  const Promoted promotion;
  const Said said = promotion.verify(kNow);
  CHECK(said.code == ExitCode::passed);
  CHECK(said.out ==
        "PASSED until 2026-12-27T20:00:00Z: candidate qualified against reference on cpu: both cells that ran passed\n"
        "  matrix image sha256:" +
            std::string(64, '1') + "\n  reference /srv/old root-sha256:" + std::string(64, '4') +
            "\n  suite smoke sha256:" + std::string(64, '9') + "\n  reprobench 0.3.0 sha256:" + std::string(64, '2') +
            "\n");
  const Said late = promotion.verify("2027-01-01T00:00:00Z");
  CHECK(late.code == ExitCode::failed);
  CHECK(late.err == "refused: it expired at 2026-12-27T20:00:00Z\n");
  CHECK(late.out.empty());
}

TEST_CASE("the matrix that was run may be asked for by its file", "[cli]") {
  const Promoted promotion;
  const std::string matrix = written_file(promotion.project / "matrix.yaml", "another\n");
  const Said said = promotion.verify(kNow, {"--matrix", matrix});
  CHECK(said.code == ExitCode::failed);
  CHECK(said.err == "refused: it is of another matrix than sha256:" + sha256_of_text("another\n") + "\n");
}

TEST_CASE("a matrix asks what its suites ask, here and where it was run", "[cli]") {
  Promoted promotion;
  const std::string matrix = written_file(promotion.project / "matrix.yaml", "this one\n");
  const Project project(promotion.project.store());
  RunVerdict verdict =
      test::verdict_on_images(read_image(promotion.image, promotion.project / "other", is_evidence).digest);
  verdict.info.matrix_digest = sha256_of_text("this one\n");
  verdict.suites = suite_digests(project.suites());
  const std::string first = verdict.suites.begin()->first;
  promotion.write(test::attested(verdict));
  CHECK(promotion.verify(kNow, {"--matrix", matrix}).code == ExitCode::passed);
  verdict.suites.begin()->second = sha256_of_text("steps: 1\n");  // another checkout's
  promotion.write(test::attested(verdict));
  const Said said = promotion.verify(kNow, {"--matrix", matrix});
  CHECK(said.code == ExitCode::failed);
  CHECK(said.err == "refused: its suite " + first + " is another one than this checkout has\n");
  CHECK_THROWS_WITH(promotion.verify(kNow, {"--matrix", "/nowhere"}), "/nowhere: missing");
}

TEST_CASE("what an attestation says stands in one line each, whatever it holds", "[cli]") {
  Promoted promotion;
  Attestation said = test::attested(
      test::verdict_on_images(read_image(promotion.image, promotion.project / "other", is_evidence).digest));
  said.predicate.run.sentence = "fine\nPASSED until 2099";
  promotion.write(said);
  CHECK_THAT(promotion.verify(kNow).out, !Contains("\nPASSED"));
  said.predicate.result = "FAILED";
  promotion.write(said);
  CHECK_THAT(promotion.verify(kNow).err, !Contains("\nPASSED"));
}

TEST_CASE("an image of other content is refused by both digests", "[cli]") {
  Promoted promotion;
  const Promoted other("2");
  promotion.image = other.image;
  const Said said = promotion.verify(kNow);
  CHECK(said.code == ExitCode::failed);
  CHECK_THAT(said.err, Contains("refused: it is of sha256:") && Contains(", and the image is sha256:"));
}

TEST_CASE("a file that is no attestation, or no moment, is a mistake of whoever asks", "[cli]") {
  Promoted promotion;
  CHECK_THROWS_WITH(promotion.verify("tomorrow"), Contains("--at tomorrow"));
  for (const auto& [text, problem] :
       {std::pair{"{", "not JSON"}, {"{}", "`_type` is missing"}, {"{\"_type\": 1, \"_type\": 2}", "stands twice"}}) {
    written_file(promotion.attestation, text);
    CHECK_THROWS_WITH(promotion.verify(kNow), Contains("attestation.json: ") && Contains(problem));
  }
  promotion.attestation = "/nowhere";
  CHECK_THROWS_WITH(promotion.verify(kNow), "/nowhere: missing");
}

TEST_CASE("a run of stacks is attested of no image", "[cli][process]") {
  const RunPlace place;
  place.run();
  const Said said = place.say(&declare_attest, {});
  CHECK(said.code == ExitCode::undecided);
  CHECK(said.out.empty());
  CHECK_THAT(said.err, Contains("is not attested: it is a run of stacks and of no image"));
}

TEST_CASE("a verdict that was edited is attested of nothing", "[cli][process]") {
  const RunPlace place;
  place.run();
  std::string verdict = read_file(place.run_folder() / "verdict.json");
  verdict.replace(verdict.find("passed"), 6, "failed");
  written_file(place.run_folder() / "verdict.json", verdict);
  CHECK_THROWS_WITH(place.say(&declare_attest, {}), Contains("verdict.json changed since it was judged"));
}

TEST_CASE("a run that says something else than the attestation is an objection of its own", "[cli][process]") {
  const RunPlace place;
  place.run();
  const Promoted promotion;
  const Said said = promotion.verify(kNow, {"--run", place.run_folder().string()});
  CHECK(said.code == ExitCode::failed);
  CHECK_THAT(said.err, Contains("refused: it is a run of stacks and of no image"));
}

}  // namespace
}  // namespace reprobench
