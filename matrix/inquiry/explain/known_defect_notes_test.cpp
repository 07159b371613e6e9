// Notes on defects that the facts know of the versions of a side.
#include "matrix/inquiry/explain/known_defect_notes.hpp"

#include "ci/catch.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"

namespace reprobench {
namespace {

KnownDefect defect_of_mkl() {
  return {.id = "mkl-first-call",
          .components = {{"mkl", VersionRange::parse(">=2024.2 <2025.0")}},
          .operation = "sqrt",
          .dtype = "fp32",
          .on_cpu = true,
          .on_gpu = false,
          .effect = DefectEffect::numerics,
          .sentence = "the first call is off",
          .evidence = {{"D4"}, "V"}};
}

CompatFacts facts_with(KnownDefect defect) {
  CompatFacts facts;
  facts.known_defects = {std::move(defect)};
  facts.sources["D4"] = "an issue";
  return facts;
}

ComparedSide side_with_mkl(const std::string& label, const std::string& version) {
  ComparedSide side{label, synthetic_request(), {}, {}};
  side.attempt.lead().result = CellResult{};
  side.attempt.lead().result->fingerprint.blas_provider = "mkl";
  side.attempt.lead().result->fingerprint.components = {{"blas", "mkl", version, ""}};
  return side;
}

std::vector<std::string> notes(const KnownDefect& defect, ExplainedWord word = ExplainedWord::defect,
                               const std::string& loaded = "2024.2") {
  Explanation explanation;
  explanation.diagnosis = Diagnosis{word, "because"};
  note_known_defects(side_with_mkl("stack-b", loaded), side_with_mkl("stack-a", "2023.1"), facts_with(defect),
                     explanation);
  return explanation.notes;
}

TEST_CASE("a defect that is known of a loaded version is named beside what is no rounding", "[explanation]") {
  const std::vector<std::string> one{"stack-b: known defect mkl-first-call of sqrt: the first call is off (an issue)"};
  CHECK(notes(defect_of_mkl()) == one);
  CHECK(notes(defect_of_mkl(), ExplainedWord::undecided) == one);
  CHECK(notes(defect_of_mkl(), ExplainedWord::rounding).empty());
  CHECK(notes(defect_of_mkl(), ExplainedWord::defect, "2025.0").empty());
  CHECK(notes(defect_of_mkl(), ExplainedWord::defect, "").empty());
}

TEST_CASE("each defect that applies has a note, with all its sources", "[explanation]") {
  CompatFacts facts = facts_with(defect_of_mkl());
  facts.sources["D5"] = "a release note";
  facts.known_defects[0].evidence.sources.push_back("D5");
  facts.known_defects.push_back(defect_of_mkl());
  facts.known_defects[1].id = "another";
  Explanation explanation;
  note_known_defects(side_with_mkl("stack-b", "2024.2"), side_with_mkl("stack-a", "2024.2"), facts, explanation);
  CHECK(explanation.notes ==
        std::vector<std::string>{
            "stack-b: known defect mkl-first-call of sqrt: the first call is off (an issue; a release note)",
            "stack-b: known defect another of sqrt: the first call is off (an issue)",
            "stack-a: known defect mkl-first-call of sqrt: the first call is off (an issue; a release note)",
            "stack-a: known defect another of sqrt: the first call is off (an issue)"});
}

TEST_CASE("a defect of another device, precision or effect is not named", "[explanation]") {
  KnownDefect defect = defect_of_mkl();
  SECTION("device") {
    defect.on_cpu = false;
    defect.on_gpu = true;
  }
  SECTION("precision") { defect.dtype = "bf16"; }
  SECTION("effect") { defect.effect = DefectEffect::throughput; }
  CHECK(notes(defect).empty());
}

TEST_CASE("a comparison that was given the facts has their notes", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, -1, times(1.001)}};
  ComparedSide measured = replays.side("stack-b", synthetic_request());
  const ComparedSide expected = replays.side("stack-a", synthetic_request());
  measured.attempt.lead().result->fingerprint.blas_provider = "mkl";
  measured.attempt.lead().result->fingerprint.components.push_back({"blas", "mkl", "2024.2", ""});
  ExplainSettings settings = explained(4);
  const auto has_note = [&] {
    const auto comparison = compare_cells(measured, expected, settings, replays);
    return std::ranges::any_of(comparison.explanation->notes,
                               [](const std::string& note) { return has(note, "known defect mkl-first-call"); });
  };
  CHECK_FALSE(has_note());
  settings.facts = std::make_shared<const CompatFacts>(facts_with(defect_of_mkl()));
  CHECK(has_note());
}

}  // namespace
}  // namespace reprobench
