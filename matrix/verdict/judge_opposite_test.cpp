// Which cell a check is held against, and the sentence where there is none to hold it against.
#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::candidate;
using sample::threshold;
constexpr auto kNoMoreThan = Bound::Kind::max;

const std::vector<CellThreshold> kReferenceBits = {threshold("numerics.reference_mismatches", kNoMoreThan, 0, true)};

TEST_CASE("a comparison without its other side says which side is missing, and why", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kReferenceBits);
  std::string reason = "no_reference";
  std::string sentence;
  SECTION("crashed") {
    run.cells[0].attempts[2].end = AttemptEnd::crash;
    run.cells[0].attempts[2].detail = "SIGSEGV";
    reason = "reference_failed";
    sentence = "its reference suite-mlp-stack-a is failed: repeat 2: SIGSEGV";
  }
  SECTION("skipped") {
    run.plan.cells[0].skip = Skip{"device-class", "no GPU"};
    sentence = "its reference suite-mlp-stack-a was skipped";
  }
  SECTION("no record of it") {
    run.cells.erase(run.cells.begin());
    sentence = "its reference aaaaaaaaaaaa did not run";
  }
  SECTION("not planned") {
    run.plan.cells.erase(run.plan.cells.begin());
    run.plan.cells.insert(run.plan.cells.begin(), run.plan.cells[0]);
    run.plan.cells[0].cell.request.cell_id = "cccccccccccc";
    sentence = "its reference aaaaaaaaaaaa did not run";
  }
  SECTION("none named") {
    run.plan.cells[1].cell.reference_cell_id.reset();
    sentence = "no cell of this plan is its reference";
  }
  SECTION("another workload") {
    for (AttemptRecord& attempt : run.cells[0].attempts) attempt.lead().result->workload_digest = "theirs";
    for (AttemptRecord& attempt : run.cells[1].attempts) attempt.lead().result->workload_digest = "ours";
    reason = "not_comparable";
    sentence = "its reference suite-mlp-stack-a ran another workload: workload_digest theirs there, ours here";
  }
  SECTION("two workloads") {
    run.cells[0].attempts[1].lead().result->workload_digest = "theirs";
    for (AttemptRecord& attempt : run.cells[1].attempts) attempt.lead().result->workload_digest = "ours";
    reason = "not_comparable";
    sentence =
        "its reference suite-mlp-stack-a ran another workload: workload_digest differs between repeats there, ours "
        "here";
  }
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.outcome == Outcome::inconclusive);
  CHECK(cell.reason == reason);
  REQUIRE(cell.checks.size() == 1);
  CHECK(cell.checks[0].reason == reason);
  CHECK(cell.checks[0].sentence == sentence);
}

// References "one" and "two", whose bits differ, and after them cells that each have the bits of one of them.
TEST_CASE("each cell is held against its own reference, whichever was read before", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, kReferenceBits);
  const PlannedCell planned = run.plan.cells[1];
  run.plan.cells.clear();
  run.cells.clear();
  const auto add = [&](const std::string& id, const std::string& bits, std::optional<std::string> reference) {
    PlannedCell cell = planned;
    cell.cell.request.cell_id = cell.cell.slug = id;
    if (!reference) cell.cell.thresholds = {};
    cell.cell.reference_cell_id = std::move(reference);
    run.plan.cells.push_back(cell);
    run.cells.push_back({id, {sample::attempt(0, 1000, bits), sample::attempt(1, 1000, bits)}});
  };
  add("one", "x", std::nullopt);
  add("two", "y", std::nullopt);
  for (const char* of : {"two", "one", "two", "two", "one"}) {
    add("of " + std::string(of) + std::to_string(run.cells.size()), of == std::string("one") ? "x" : "y", of);
  }
  const RunVerdict verdict = judge(run);
  for (std::size_t i = 2; i < verdict.cells.size(); ++i) CHECK(verdict.cells[i].outcome == Outcome::passed);
  run.plan.cells[4].cell.reference_cell_id = "one";
  CHECK(judge(run).cells[4].outcome == Outcome::failed);
  CHECK(judge(run).cells[5].outcome == Outcome::passed);
}

const std::vector<CellThreshold> kSeeds = {threshold("numerics.alike_seeds", kNoMoreThan, 0, false)};

TEST_CASE("where another seed did not run or failed it is named", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, kSeeds);
  for (std::size_t i = 0; i < 2; ++i) {
    Cell& cell = run.plan.cells[i].cell;
    cell.coordinates["stack"] = cell.request.stack = "stack-a";
    cell.coordinates["seed"] = cell.request.knobs["seed"] = std::to_string(i + 1);
  }
  SECTION("no record of it") {
    run.cells.erase(run.cells.begin());
    const CheckResult check = candidate(judge(run)).checks.at(0);
    CHECK(check.reason == "no_reference");
    CHECK(check.sentence == "suite-mlp-stack-a did not run");
  }
  SECTION("failed") {
    run.cells[0].attempts[1].end = AttemptEnd::hang;
    run.cells[0].attempts[1].detail = "no step";
    const CheckResult check = candidate(judge(run)).checks.at(0);
    CHECK(check.reason == "reference_failed");
    CHECK(check.sentence == "suite-mlp-stack-a is failed: repeat 1: no step");
  }
}

TEST_CASE("a cell of which there is no record stands for no workload, nor does one that was skipped", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, {threshold("numerics.by_construction_mismatches", kNoMoreThan, 0, false)});
  for (AttemptRecord& attempt : run.cells[0].attempts) attempt.lead().trace->tensors[0].tensors[0].digest = "odd";
  CHECK(candidate(judge(run)).checks.at(0).divergence->against == "suite-mlp-stack-a");
  SECTION("no record") { run.cells.erase(run.cells.begin()); }
  SECTION("skipped") { run.plan.cells[0].skip = Skip{"device-class", "no GPU"}; }
  CHECK(candidate(judge(run)).checks.at(0).status == CheckStatus::passed);
  CHECK(candidate(judge(run)).checks.at(0).sentence.ends_with("are those of repeat 0"));
}

TEST_CASE("a reference on a GPU stands for its workload before any other cell on the CPU", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, {threshold("numerics.by_construction_mismatches", kNoMoreThan, 0, false)});
  std::swap(run.plan.cells[0], run.plan.cells[1]);  // the candidate first
  std::swap(run.cells[0], run.cells[1]);
  for (AttemptRecord& attempt : run.cells[0].attempts) attempt.lead().trace->tensors[0].tensors[0].digest = "odd";
  run.plan.cells[1].cell.request.device = "sm_90";
  CHECK(judge(run).cells[0].checks.at(0).divergence->against == "suite-mlp-stack-a");
}

TEST_CASE("a cell that digests its inputs stands for its workload before a reference that does not", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, {threshold("numerics.by_construction_mismatches", kNoMoreThan, 0, false)});
  for (AttemptRecord& attempt : run.cells[0].attempts) attempt.lead().trace->tensors[0].tensors[0].digest = "odd";
  for (PlannedCell& planned : run.plan.cells) planned.cell.request.trace = TraceLevel::step;
  CHECK(candidate(judge(run)).checks.at(0).divergence->against == "suite-mlp-stack-a");
  run.plan.cells[1].cell.request.trace = TraceLevel::tensor;
  CHECK(candidate(judge(run)).checks.at(0).sentence.ends_with("are those of repeat 0"));
}

TEST_CASE("a diagnosis counts for the pair that it was made of", "[verdict]") {
  RunRecord run = sample::run(1, 1.0, {threshold("numerics.beyond_rounding", kNoMoreThan, 0, false)});
  run.cells[1].attempts[0].lead().trace->steps[3].root = "x";
  CHECK(candidate(judge(run)).outcome == Outcome::inconclusive);
  CHECK(candidate(judge(run)).reason == "undiagnosed");
  CellDiagnosis diagnosis{sample::kCandidateId, sample::kReferenceId, ExplainedWord::rounding, "aten::mm made it"};
  run.diagnoses[sample::kCandidateId] = diagnosis;
  CHECK(candidate(judge(run)).outcome == Outcome::passed);
  run.diagnoses[sample::kCandidateId].word = ExplainedWord::defect;
  CHECK(candidate(judge(run)).outcome == Outcome::failed);
  run.diagnoses[sample::kCandidateId].word = ExplainedWord::rounding;
  run.diagnoses[sample::kCandidateId].reference_cell_id = "another";
  CHECK(candidate(judge(run)).reason == "undiagnosed");
}

TEST_CASE("a device fault followed a stack in the sentence too, whatever else is on record", "[verdict][gpu]") {
  RunRecord run = sample::run(2, 1.0, kReferenceBits);
  run.cells.insert(run.cells.begin(), CellRecord{"of no cell of the plan", {sample::attempt(0, 1000)}});
  run.plan.cells[0].cell.request.stack = run.plan.cells[1].cell.request.stack;
  for (std::size_t i = 1; i < 3; ++i) {
    AttemptRecord& attempt = run.cells[i].attempts[1];
    attempt.end = AttemptEnd::gpu_hw;
    attempt.detail = "Xid 79";
    attempt.telemetry = TelemetrySummary{};
    attempt.telemetry->gpus = {{i == 1 ? "GPU-a" : "GPU-b", "00000000:3B:00.0", "NVIDIA H100"}};
    attempt.telemetry->events = {{0, 0, TelemetryEventKind::xid, 79}};
  }
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.outcome == Outcome::failed);
  CHECK(cell.sentence == "repeat 1: Xid 79; the same on a second GPU, so it is held against the stack");
  run.cells[1].attempts[1].telemetry->gpus[0].uuid = "GPU-b";
  CHECK(candidate(judge(run)).outcome == Outcome::errored);
  CHECK(candidate(judge(run)).sentence == "repeat 1: Xid 79");
}

}  // namespace
}  // namespace reprobench
