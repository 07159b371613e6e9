#include "matrix/verdict/dimension_summary.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using sample::candidate;
using sample::threshold;

DimensionSummary summary_of(const RunRecord& run, Dimension dimension) {
  return judge(run).dimensions.at(static_cast<std::size_t>(dimension));
}

const std::vector<CellThreshold> kBitChecks = {
    threshold("numerics.repeat_mismatches", Bound::Kind::max, 0, false),
    threshold("numerics.reference_mismatches", Bound::Kind::max, 0, true, Gate::record_only)};

TEST_CASE("equal bits are said of every repeat of both sides", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kBitChecks);
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
             StartsWith("stack-b: bits equal to stack-a in 1 of 1 cell; checks: 1 passed"));
  SECTION("a repeat that differs") {
    candidate(run).attempts[2].lead().result->chain = std::string(32, 'f');
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
               StartsWith("stack-b: bits equal to stack-a in 0 of 1 cell, other bits in 1"));
  }
  SECTION("a repeat of the reference that differs") {
    run.cells[0].attempts[1].lead().result->chain = std::string(32, 'f');
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
               StartsWith("stack-b: bits equal to stack-a in 0 of 1 cell, other bits in 1"));
  }
  SECTION("a crashed cell") {
    candidate(run).attempts[1].end = AttemptEnd::crash;
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence, Contains("in 0 of 1 cell; 1 could not be compared"));
  }
  SECTION("another workload") {
    for (AttemptRecord& attempt : candidate(run).attempts)
      attempt.lead().result->workload_digest = std::string(32, 'd');
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence, Contains("in 0 of 1 cell; 1 could not be compared"));
  }
  SECTION("a loss that is no number") {
    for (AttemptRecord& attempt : candidate(run).attempts) attempt.lead().trace->steps[3].loss = "nan";
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
               StartsWith("stack-b: bits equal to stack-a in 0 of 1 cell, other bits in 1"));
    CHECK(summary_of(run, Dimension::numerics).word == "failed");
  }
}

TEST_CASE("what the reference passes by itself is no word on the candidate", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kBitChecks);
  CHECK(summary_of(run, Dimension::numerics).word == "passed");
  run.plan.cells[0].cell.thresholds = {kBitChecks[0]};
  run.plan.cells[1].cell.thresholds = {};
  CHECK(summary_of(run, Dimension::numerics).word == "not_checked");
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence, Catch::EndsWith("; nothing is asked of stack-b"));
  run.plan.cells[1].cell.thresholds = {
      threshold("numerics.repeat_mismatches", Bound::Kind::max, 0, false, Gate::record_only)};
  CHECK(summary_of(run, Dimension::numerics).word == "not_checked");
}

TEST_CASE("other bits are placed", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kBitChecks);
  for (int i = 0; i < 3; ++i) candidate(run).attempts[static_cast<std::size_t>(i)] = sample::attempt(i, 3e5, "other");
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
             Contains("other bits in 1; first at step 1 in `fc1.weight` (parameter) of suite-mlp-stack-b"));
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence, Contains("1 over the bound and only recorded"));
  CHECK(summary_of(run, Dimension::numerics).word == "passed");
}

TEST_CASE("what the differences are stands beside how many there are", "[verdict]") {
  std::vector<CellThreshold> asked = kBitChecks;
  RunRecord run = sample::run(1, 1.0, asked);
  const auto said = [&] { return summary_of(run, Dimension::numerics).sentence; };
  PlannedCell second = run.plan.cells[1];
  second.cell.request.cell_id = "cccccccccccc";
  run.plan.cells.push_back(second);
  run.cells.push_back({"cccccccccccc", {sample::attempt(0, 3e5, "other")}});
  candidate(run).attempts = {sample::attempt(0, 3e5, "other")};
  CHECK_THAT(said(), Contains("other bits in 2; first"));
  asked.push_back(threshold("numerics.beyond_rounding", Bound::Kind::max, 0, true));
  for (PlannedCell& planned : run.plan.cells) planned.cell.thresholds = asked;
  CHECK_THAT(said(), Contains("other bits in 2: 2 undecided; first"));
  const auto diagnose = [&](const char* id, ExplainedWord word) {
    run.diagnoses[id] = {id, sample::kReferenceId, word, "aten::mm made it"};
  };
  diagnose(sample::kCandidateId, ExplainedWord::rounding);
  CHECK_THAT(said(), Contains("other bits in 2: 1 rounding, 1 undecided; first"));
  diagnose("cccccccccccc", ExplainedWord::defect);
  CHECK_THAT(said(), Contains("other bits in 2: 1 rounding, 1 beyond rounding; first"));
  diagnose("cccccccccccc", ExplainedWord::rounding);
  CHECK_THAT(said(), Contains("other bits in 2: all rounding; first"));
}

TEST_CASE("speed and memory are the worst ratio with its interval, whichever way better lies", "[verdict]") {
  const auto more_is_better = GENERATE(false, true);
  const char* metric = more_is_better ? "throughput.samples" : "throughput.step_time";
  RunRecord run = sample::run(7, 1.25, {threshold(metric, Bound::Kind::max_regression, 0.05, true)});
  PlannedCell faster = run.plan.cells[1];
  faster.cell.request.cell_id = "cccccccccccc";
  faster.cell.slug = "faster";
  run.plan.cells.push_back(faster);
  run.cells.push_back({"cccccccccccc", run.cells[0].attempts});
  const DimensionSummary speed = summary_of(run, Dimension::throughput);
  CHECK(speed.word == "failed");
  CHECK_THAT(speed.sentence, Contains(more_is_better ? "samples x0.800" : "step_time x1.250") &&
                                 Contains("at worst of 2, suite-mlp-stack-b; checks: 1 failed, 1 passed"));
  CHECK(summary_of(run, Dimension::memory).word == "not_checked");
}

TEST_CASE("a metric that is a ratio to the reference by itself is told like one", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {threshold("memory.peak_anonymous_share", Bound::Kind::max, 1.1, true)});
  for (CellRecord& cell : run.cells) {
    for (AttemptRecord& attempt : cell.attempts) attempt.lead().result->peak_anonymous_bytes = 1000;
  }
  candidate(run).attempts[2].lead().result->peak_anonymous_bytes = 1040;
  CHECK_THAT(summary_of(run, Dimension::memory).sentence,
             StartsWith("stack-b against stack-a: peak_anonymous_share x1.040, suite-mlp-stack-b; checks: 1 passed"));
  run.plan.cells[1].cell.thresholds = {threshold("numerics.loss_rel", Bound::Kind::max, 1, true)};
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence, !Contains("loss_rel"));
}

TEST_CASE("the line is about the required stack, the word about every check", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {threshold("memory.peak_rss", Bound::Kind::max_regression, 0.1, true)});
  PlannedCell old = run.plan.cells[1];
  run.plan.cells[1].cell.required = true;
  old.cell.request.cell_id = "cccccccccccc";
  old.cell.coordinates["stack"] = "stack-old";
  run.plan.cells.push_back(old);
  run.cells.push_back({"cccccccccccc", run.cells[1].attempts});
  for (AttemptRecord& attempt : run.cells[2].attempts) attempt.lead().result->peak_rss_bytes *= 2;
  const DimensionSummary memory = summary_of(run, Dimension::memory);
  CHECK(memory.word == "failed");
  CHECK_THAT(memory.sentence,
             StartsWith("stack-b against stack-a: peak_rss x1.000, suite-mlp-stack-b; checks: 1 failed"));
}

TEST_CASE("up to two candidates are named, more are counted", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kBitChecks);
  const auto add = [&](const char* id, const char* stack) {
    PlannedCell another = run.plan.cells[1];
    another.cell.request.cell_id = id;
    another.cell.coordinates["stack"] = stack;
    run.plan.cells.push_back(another);
    run.cells.push_back({id, run.cells[1].attempts});
  };
  add("cccccccccccc", "stack-c");
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence, StartsWith("stack-b, stack-c: bits equal to stack-a in 2"));
  add("dddddddddddd", "stack-d");
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence, StartsWith("3 candidates: bits equal to stack-a in 3"));
}

// A check of memory, armed or not.
CheckResult memory_check(CheckStatus status, Gate gate) {
  CheckResult check;
  check.metric = "memory.peak_rss";
  check.dimension = Dimension::memory;
  check.status = status;
  check.gate = gate;
  return check;
}

TEST_CASE("checks are counted by what they decide, and the worst of them is the word", "[verdict]") {
  CellVerdict cell;
  cell.cell_id = "a";
  const auto memory = [&] { return dimension_summaries({cell}).at(static_cast<std::size_t>(Dimension::memory)); };
  const auto add = [&](CheckStatus status, Gate gate) { cell.checks.push_back(memory_check(status, gate)); };
  CHECK(memory().word == "not_checked");
  CHECK(memory().sentence == "not checked");
  add(CheckStatus::passed, Gate::record_only);
  add(CheckStatus::inconclusive, Gate::record_only);
  CHECK(memory().word == "recorded");
  CHECK(memory().sentence == "checks: 2 recorded");
  add(CheckStatus::failed, Gate::record_only);
  CHECK(memory().word == "recorded");
  CHECK(memory().sentence == "checks: 1 over the bound and only recorded, 2 recorded");
  add(CheckStatus::passed, Gate::armed);
  add(CheckStatus::passed, Gate::armed);
  CHECK(memory().word == "passed");
  add(CheckStatus::inconclusive, Gate::armed);
  CHECK(memory().word == "inconclusive");
  CHECK(memory().sentence == "checks: 1 inconclusive, 2 passed, 1 over the bound and only recorded, 2 recorded");
  add(CheckStatus::failed, Gate::armed);
  CHECK(memory().word == "failed");
  CHECK(memory().sentence ==
        "checks: 1 failed, 1 inconclusive, 2 passed, 1 over the bound and only recorded, 2 recorded");
  CHECK(dimension_summaries({cell}).at(static_cast<std::size_t>(Dimension::numerics)).word == "not_checked");
}

// A candidate and its reference, one attempt each with these bits.
std::vector<CellVerdict> pair_with_bits(const std::string& ours, const std::string& theirs) {
  std::vector<CellVerdict> cells(2);
  for (std::size_t i = 0; i < 2; ++i) {
    CellVerdict& cell = cells[i];
    cell.cell_id = i == 0 ? "r" : "c";
    cell.slug = i == 0 ? "reference" : "candidate";
    cell.coordinates = {{"device", "cpu"}, {"stack", i == 0 ? "old" : "new"}};
    cell.outcome = Outcome::passed;
    AttemptSummary attempt;
    attempt.end = AttemptEnd::completed;
    attempt.chain = i == 0 ? theirs : ours;
    cell.attempts = {attempt};
  }
  cells[1].reference_cell_id = "r";
  return cells;
}

std::string numerics_of(const std::vector<CellVerdict>& cells) {
  return dimension_summaries(cells).at(static_cast<std::size_t>(Dimension::numerics)).sentence;
}

TEST_CASE("bits are those of the last attempt of a repeat, in whatever order attempts stand", "[verdict]") {
  std::vector<CellVerdict> cells = pair_with_bits("same", "same");
  CHECK(numerics_of(cells) == "new: bits equal to old in 1 of 1 cell");
  AttemptSummary lost = cells[1].attempts[0];
  lost.end = AttemptEnd::lost;
  lost.chain = "";
  cells[1].attempts[0].attempt = 1;
  for (const bool is_first : {true, false}) {
    std::vector<CellVerdict> retried = cells;
    auto& attempts = retried[1].attempts;
    attempts.insert(is_first ? attempts.begin() : attempts.end(), lost);
    CHECK(numerics_of(retried) == "new: bits equal to old in 1 of 1 cell");
  }
  cells[1].outcome = Outcome::errored;
  CHECK(numerics_of(cells) == "new: bits equal to old in 0 of 1 cell; 1 could not be compared");
  cells[1].outcome = Outcome::unfinished;
  CHECK(numerics_of(cells) == "new: bits equal to old in 0 of 1 cell; 1 could not be compared");
  cells[1].outcome = Outcome::skipped;
  CHECK(numerics_of(cells) == "not checked");
}

TEST_CASE("the first cell with other bits is named, with the step, by its tensor or by its role alone", "[verdict]") {
  std::vector<CellVerdict> cells = pair_with_bits("other", "same");
  CHECK(numerics_of(cells) == "new: bits equal to old in 0 of 1 cell, other bits in 1");
  CheckResult check;
  check.gate = Gate::record_only;
  check.divergence = CheckDivergence{{7, "", "loss", "", ""}, "another cell"};
  cells[1].checks = {check};
  CHECK_THAT(numerics_of(cells), StartsWith("new: bits equal to old in 0 of 1 cell, other bits in 1; checks"));
  cells[1].checks[0].divergence->against = "reference";
  CHECK_THAT(numerics_of(cells), Contains("other bits in 1; first at step 7 in loss of candidate; checks"));
  cells.push_back(cells[1]);
  cells[2].slug = "later";
  cells[2].checks[0].divergence->tensor = "w";
  CHECK_THAT(numerics_of(cells), Contains("in 0 of 2 cells, other bits in 2; first at step 7 in loss of candidate;"));
  std::swap(cells[1], cells[2]);
  CHECK_THAT(numerics_of(cells), Contains("first at step 7 in `w` (loss) of later;"));
}

TEST_CASE("each metric has its clause, with the interval where there is one", "[verdict]") {
  std::vector<CellVerdict> cells = pair_with_bits("same", "same");
  CheckResult peak = memory_check(CheckStatus::passed, Gate::armed);
  peak.ratio = peak.ratio_low = peak.ratio_high = 1.1;
  CheckResult growth = memory_check(CheckStatus::failed, Gate::record_only);
  growth.metric = "memory.rss_growth";
  growth.ratio = 0.9;
  growth.ratio_low = 0.8;
  growth.ratio_high = 1.05;
  CheckResult without_ratio = memory_check(CheckStatus::inconclusive, Gate::armed);
  without_ratio.metric = "memory.device_peak";
  cells[1].checks = {peak, without_ratio, growth};
  const std::string text = dimension_summaries(cells).at(static_cast<std::size_t>(Dimension::memory)).sentence;
  CHECK(text ==
        "new against old: peak_rss x1.100, candidate; rss_growth x0.900 [0.800, 1.050], candidate (recorded only); "
        "checks: 1 inconclusive, 1 passed, 1 over the bound and only recorded");
}

TEST_CASE("of two ratios the worse one is told, whichever comes first and whichever way better lies", "[verdict]") {
  for (const Better better : {Better::lower, Better::higher}) {
    for (const bool worse_first : {true, false}) {
      std::vector<CellVerdict> cells = pair_with_bits("same", "same");
      CheckResult check = memory_check(CheckStatus::passed, Gate::armed);
      check.better = better;
      const double worse = better == Better::lower ? 1.2 : 0.7;
      for (const double ratio : {worse_first ? worse : 1.1, worse_first ? 1.1 : worse}) {
        check.ratio = ratio;
        cells[1].checks.push_back(check);
      }
      CHECK_THAT(dimension_summaries(cells).at(static_cast<std::size_t>(Dimension::memory)).sentence,
                 Contains(better == Better::lower ? "peak_rss x1.200 at worst of 2" : "peak_rss x0.700 at worst of 2"));
    }
  }
}

TEST_CASE("of ratios that are as bad the first is told, by its own cell", "[verdict]") {
  std::vector<CellVerdict> cells = pair_with_bits("same", "same");
  CheckResult check = memory_check(CheckStatus::passed, Gate::armed);
  check.ratio = 1.25;
  cells[1].checks = {check};
  cells.push_back(cells[1]);
  cells[2].slug = "later";
  const auto memory = [&] {
    return dimension_summaries(cells).at(static_cast<std::size_t>(Dimension::memory)).sentence;
  };
  CHECK(memory() == "new against old: peak_rss x1.250 at worst of 2, candidate; checks: 2 passed");
  cells[1].checks[0].ratio_low = 1.2;  // an interval has two ends
  CHECK(memory() == "new against old: peak_rss x1.250 at worst of 2, candidate; checks: 2 passed");
  cells[1].checks[0].ratio_high = 1.3;
  CHECK(memory() == "new against old: peak_rss x1.250 [1.200, 1.300] at worst of 2, candidate; checks: 2 passed");
  cells[2].checks[0].ratio = 1.26;
  CHECK(memory() == "new against old: peak_rss x1.260 at worst of 2, later; checks: 2 passed");
}

TEST_CASE("a required cell that is compared with nothing narrows no line, a required candidate does", "[verdict]") {
  std::vector<CellVerdict> cells = pair_with_bits("same", "same");
  cells.push_back(cells[1]);
  cells[2].coordinates["stack"] = "newer";
  cells[0].required = true;
  CHECK(numerics_of(cells) == "new, newer: bits equal to old in 2 of 2 cells");
  cells[2].required = true;
  CHECK(numerics_of(cells) == "newer: bits equal to old in 1 of 1 cell");
  cells[1].reference_cell_id = "gone";
  cells[2].required = false;
  CHECK(numerics_of(cells) == "newer: bits equal to old in 1 of 1 cell");
}

TEST_CASE("equal, other and open cells are counted beside each other", "[verdict]") {
  std::vector<CellVerdict> cells = pair_with_bits("same", "same");
  for (const char* chain : {"other", "", "other"}) {
    cells.push_back(cells[1]);
    cells.back().attempts[0].chain = chain;
  }
  CHECK(numerics_of(cells) == "new: bits equal to old in 1 of 4 cells, other bits in 2; 1 could not be compared");
}

TEST_CASE("every reference is named once", "[verdict]") {
  std::vector<CellVerdict> cells = pair_with_bits("same", "same");
  std::vector<CellVerdict> others = pair_with_bits("same", "same");
  others[0].cell_id = "older";
  others[0].coordinates["stack"] = "older";
  others[1].reference_cell_id = "older";
  cells.insert(cells.end(), others.begin(), others.end());
  CHECK(numerics_of(cells) == "new: bits equal to old, older in 2 of 2 cells");
}

TEST_CASE("a value that says nothing by itself is named with its axis", "[verdict]") {
  std::vector<CellVerdict> cells = pair_with_bits("same", "same");
  cells[0].coordinates = cells[1].coordinates;
  cells[0].coordinates["threads"] = "1";
  cells[1].coordinates["threads"] = "2";
  CHECK(numerics_of(cells) == "threads=2: bits equal to threads=1 in 1 of 1 cell");
  cells[0].coordinates["stack"] = "old";
  CHECK(numerics_of(cells) == "new threads=2: bits equal to old threads=1 in 1 of 1 cell");
}

TEST_CASE("more than two names of references are no name", "[verdict]") {
  std::vector<CellVerdict> cells;
  const auto numerics_with = [&](const std::string& reference) {
    std::vector<CellVerdict> pair = pair_with_bits("same", "same");
    pair[0].cell_id = reference;
    pair[0].coordinates["stack"] = reference;
    pair[1].reference_cell_id = reference;
    cells.insert(cells.end(), pair.begin(), pair.end());
    return numerics_of(cells);
  };
  numerics_with("old");
  CHECK(numerics_with("older") == "new: bits equal to old, older in 2 of 2 cells");
  CHECK(numerics_with("oldest") == "new: bits equal to their references in 3 of 3 cells");
}

TEST_CASE("sides that differ in nothing that names them are told by their slug", "[verdict]") {
  std::vector<CellVerdict> cells = pair_with_bits("same", "same");
  cells[0].coordinates = cells[1].coordinates;
  CHECK(numerics_of(cells) == "candidate: bits equal to reference in 1 of 1 cell");
  cells[0].coordinates["device"] = "sm_90";
  CHECK(numerics_of(cells) == "cpu: bits equal to sm_90 in 1 of 1 cell");
  cells[0].coordinates["stack"] = "old";
  CHECK(numerics_of(cells) == "cpu new: bits equal to sm_90 old in 1 of 1 cell");
}

}  // namespace
}  // namespace reprobench
