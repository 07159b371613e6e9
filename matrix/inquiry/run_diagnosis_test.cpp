#include "matrix/inquiry/run_diagnosis.hpp"

#include "ci/catch.hpp"
#include "matrix/inquiry/scripted_replays.hpp"

namespace reprobench {
namespace {

using std::chrono::seconds;

// A rounding of stack-b in step 3, and the same call far off.
const Deviation kRoundedAtStep3{"forward fc1 aten::addmm", 3, 3, 7};
const Deviation kFarOffAtStep3{"forward fc1 aten::addmm", 3, 3, -1, times(1.01)};

CellThreshold armed(const std::string& metric, Gate gate = Gate::armed) {
  CellThreshold threshold;
  threshold.metric = metric;
  threshold.gate = gate;
  return threshold;
}

class DifferingRun {
 public:
  DifferingRun() {
    replays.planted = [](const CellRequest& request) {
      return request.inject
                 ? std::vector<Deviation>{{"parameter " + request.inject->tensor, 1, 1, request.inject->element}}
                 : std::vector<Deviation>{};
    };
    settings.questions.explain.lockstep_batches = 4;
    settings.questions.members = 4;
    settings.questions.store = replays.folder() / "store";
    settings.questions.devices = {"cpu"};
    settings.budget = seconds(60);
    settings.spent = [this] { return spent; };
  }

  ComparedSide side(const std::string& stack, const std::string& name, std::int64_t steps) {
    CellRequest request = synthetic_request();
    request.workload.steps = steps;
    ComparedSide side = replays.side(stack, request);
    side.request.cell_id = name + "-" + stack;
    side.stored = StoredCell{};
    side.stored->run_id = "r1";
    side.stored->slug = side.request.cell_id;
    side.stored->repeats_due = 1;
    side.stored->repeats = {side.attempt};
    side.stored->thresholds = std::vector<CellThreshold>{armed("numerics.beyond_rounding")};
    return side;
  }

  SidePair pair(const std::string& name = "cell", std::int64_t steps = 6) {
    return {side("stack-b", name, steps), side("stack-a", name, steps)};
  }

  std::vector<DiagnosedCell> asked(std::vector<SidePair> pairs) {
    std::vector<DiagnosedCell> told;
    diagnose(
        std::move(pairs), settings, replays, [](const std::string&) {},
        [&](const DiagnosedCell& cell) { told.push_back(cell); });
    return told;
  }

  ScriptedReplays replays;
  RunDiagnosisSettings settings;
  std::chrono::nanoseconds spent{};
};

std::vector<std::string> names(const std::vector<SidePair>& pairs) {
  std::vector<std::string> names;
  for (const SidePair& pair : pairs) names.push_back(pair.first.request.cell_id);
  return names;
}

TEST_CASE("a difference is asked about where an armed check wants to know what it is", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kRoundedAtStep3};
  StoredPairs found;
  for (const char* name : {"asked", "recorded", "of another metric", "equal", "crashed"}) {
    found.pairs.push_back(scene.pair(name));
  }
  found.pairs[1].first.stored->thresholds =
      std::vector<CellThreshold>{armed("numerics.beyond_rounding", Gate::record_only)};
  found.pairs[2].first.stored->thresholds = std::vector<CellThreshold>{armed("numerics.loss_rel")};
  found.pairs[3].first.stored->repeats = found.pairs[3].second.stored->repeats;
  found.pairs[4].second.missing = "did not train to its end";
  CHECK(names(pairs_to_diagnose(std::move(found))) == std::vector<std::string>{"asked-stack-b"});
}

TEST_CASE("one repeat of one side that differs is enough to ask", "[inquiry][diagnosis]") {
  DifferingRun scene;
  StoredPairs found;
  found.pairs.push_back(scene.pair());
  SidePair& pair = found.pairs.front();
  ComparedSide& side = GENERATE(true, false) ? pair.first : pair.second;
  side.stored->repeats.push_back(side.attempt);
  SECTION("all are equal") { CHECK(pairs_to_diagnose(std::move(found)).empty()); }
  SECTION("the last differs") {
    side.stored->repeats.back().lead().result->chain = "other";
    CHECK(pairs_to_diagnose(std::move(found)).size() == 1);
  }
}

TEST_CASE("what digests every tensor is asked first, and of those the longest", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kRoundedAtStep3};
  StoredPairs found;
  found.pairs.push_back(scene.pair("short", 4));
  found.pairs.push_back(scene.pair("roots", 8));
  found.pairs.back().first.request.trace = TraceLevel::step;
  found.pairs.push_back(scene.pair("long", 6));
  CHECK(names(pairs_to_diagnose(std::move(found))) ==
        std::vector<std::string>{"long-stack-b", "short-stack-b", "roots-stack-b"});
}

TEST_CASE("a rounding is called so with the whole trajectory beside it", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kRoundedAtStep3};
  const auto told = scene.asked({scene.pair()});
  REQUIRE(told.size() == 1);
  CHECK(told[0].diagnosis.cell_id == "cell-stack-b");
  CHECK(told[0].diagnosis.reference_cell_id == "cell-stack-a");
  CHECK(told[0].diagnosis.word == ExplainedWord::rounding);
  CHECK(told[0].diagnosis.sentence.starts_with("equal bits up to step 2; first difference in step 3"));
  CHECK(told[0].diagnosis.sentence.ends_with("4 runs with one weight moved by 1 ulp, over the whole run"));
  REQUIRE(told[0].comparison);
  CHECK(told[0].comparison->trajectory);
}

TEST_CASE("a defect is called so, at its call", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kFarOffAtStep3};
  const auto told = scene.asked({scene.pair()});
  CHECK(told.at(0).diagnosis.word == ExplainedWord::defect);
  CHECK(told.at(0).diagnosis.sentence.find("aten::addmm (forward of `fc1`) made it out of equal inputs; ") !=
        std::string::npos);
  CHECK(told.at(0).diagnosis.sentence.find("defect: ") == std::string::npos);
}

TEST_CASE("another computation is called so unless the steps show a defect", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kRoundedAtStep3};
  const SidePair pair = scene.pair();
  CellComparison comparison = scene.asked({pair}).at(0).comparison.value();
  const auto word_of = [&](ExplainedWord diagnosis, LockstepWord steps) {
    comparison.explanation->diagnosis->word = diagnosis;
    comparison.explanation->lockstep->word = steps;
    return diagnosis_of(comparison, pair).word;
  };
  CHECK(word_of(ExplainedWord::another_computation, LockstepWord::rounding) == ExplainedWord::another_computation);
  CHECK(word_of(ExplainedWord::another_computation, LockstepWord::defect) == ExplainedWord::defect);
  CHECK(word_of(ExplainedWord::defect, LockstepWord::rounding) == ExplainedWord::defect);
  CHECK(word_of(ExplainedWord::rounding, LockstepWord::defect) == ExplainedWord::defect);
  CHECK(diagnosis_of(comparison, pair).sentence.starts_with("the steps against fp64 show a defect; "));
  CHECK(word_of(ExplainedWord::undecided, LockstepWord::rounding) == ExplainedWord::undecided);
  CHECK(word_of(ExplainedWord::rounding, LockstepWord::rounding) == ExplainedWord::rounding);
}

TEST_CASE("who goes too far behind a rounding is a defect", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kRoundedAtStep3};
  const SidePair pair = scene.pair();
  CellComparison comparison = scene.asked({pair}).at(0).comparison.value();
  CHECK(diagnosis_of(comparison, pair).word == ExplainedWord::rounding);
  comparison.trajectory->word = "outside";
  comparison.trajectory->sentence = "after 5 steps the parameters are 0.2 apart";
  const CellDiagnosis outside = diagnosis_of(comparison, pair);
  CHECK(outside.word == ExplainedWord::defect);
  CHECK(outside.sentence.starts_with("after 5 steps the parameters are 0.2 apart; equal bits up to step 2"));
  comparison.trajectory->word = "not_judged";
  CHECK(diagnosis_of(comparison, pair).word == ExplainedWord::undecided);
}

TEST_CASE("whatever could not be asked leaves a difference undecided", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kRoundedAtStep3};
  const std::string failing = GENERATE("b-operators", "member-1", "");
  scene.replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == failing) outcome.attempt.end = AttemptEnd::hang;
  };
  SidePair pair = scene.pair();
  if (failing.empty()) scene.settings.questions.devices = {"sm_90"};
  const auto told = scene.asked({pair});
  CHECK(told.at(0).diagnosis.word == ExplainedWord::undecided);
  CHECK(told.at(0).diagnosis.sentence.find(failing.empty() ? "this host has no cpu" : failing) != std::string::npos);
}

TEST_CASE("a pair that cannot be asked costs its own cell the answer", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kRoundedAtStep3};
  SidePair broken = scene.pair("broken");
  broken.second.stored->repeats[0].lead().trace.reset();  // it is on disk, where there is none
  const auto told = scene.asked({broken, scene.pair("whole")});
  REQUIRE(told.size() == 2);
  CHECK(told[0].diagnosis.word == ExplainedWord::undecided);
  CHECK(told[0].diagnosis.sentence.find("trace.jsonl") != std::string::npos);
  CHECK_FALSE(told[0].comparison);
  CHECK(told[1].diagnosis.word == ExplainedWord::rounding);
}

TEST_CASE("what is left when the time is up stays undecided", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kRoundedAtStep3};
  scene.spent = GENERATE(seconds(60), seconds(61), seconds(59));
  const auto told = scene.asked({scene.pair()});
  if (scene.spent == seconds(59)) {
    CHECK(told.at(0).diagnosis.word == ExplainedWord::rounding);
    return;
  }
  CHECK(told.at(0).diagnosis.word == ExplainedWord::undecided);
  CHECK(told.at(0).diagnosis.sentence == "not asked: 60 s for diagnoses were spent (--diagnose-for)");
  CHECK(scene.replays.calls.empty());
}

TEST_CASE("a run of equal bits, or that asks about none, has nothing to diagnose", "[inquiry][diagnosis]") {
  DifferingRun scene;
  scene.replays.stacks["stack-b"] = {kRoundedAtStep3};
  RunRecord run;
  for (ComparedSide& side :
       std::vector<ComparedSide>{scene.side("stack-a", "cell", 6), scene.side("stack-b", "cell", 6)}) {
    PlannedCell planned;
    planned.cell.request = side.request;
    planned.cell.thresholds = side.stored->thresholds;
    if (side.request.stack == "stack-b") planned.cell.reference_cell_id = "cell-stack-a";
    run.plan.cells.push_back(planned);
    run.cells.push_back({side.request.cell_id, {side.attempt}});
  }
  CHECK(has_difference_to_diagnose(run));
  SECTION("not armed") { run.plan.cells[1].cell.thresholds = std::vector<CellThreshold>{}; }
  SECTION("skipped") { run.plan.cells[1].skip = Skip{"device-class", "no GPU"}; }
  SECTION("without a reference") { run.plan.cells[1].cell.reference_cell_id.reset(); }
  SECTION("equal") { run.cells[1].attempts = run.cells[0].attempts; }
  CHECK_FALSE(has_difference_to_diagnose(run));
}

}  // namespace
}  // namespace reprobench
