#include "matrix/inquiry/bisect/checked_cell.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

constexpr const char* kMetric = "memory.peak_anonymous";

CellThreshold threshold(const std::string& metric, bool vs_reference, Gate gate = Gate::armed) {
  CellThreshold threshold;
  threshold.metric = metric;
  threshold.gate = gate;
  threshold.bound.kind = vs_reference ? Bound::Kind::max_regression : Bound::Kind::max;
  threshold.bound.limit = 0.1;
  threshold.bound.vs_reference = vs_reference;
  return threshold;
}

CheckResult check(const std::string& metric, CheckStatus status = CheckStatus::failed) {
  CheckResult result;
  result.metric = metric;
  result.status = status;
  result.reason = status == CheckStatus::failed ? "over_bound" : "within_bound";
  result.sentence = "x1.85";
  result.ratio = 1.85;
  return result;
}

Cell cell_on(const std::string& stack) {
  Cell cell;
  cell.request.suite = "smoke";
  cell.request.workload = {"mlp", "default", 6, 32};
  cell.request.stack = stack;
  cell.request.device = "cpu";
  cell.request.knobs = with_defaults({});
  cell.slug = "smoke-mlp-" + stack + "-cpu-fp32";
  cell.coordinates = {{"suite", "smoke"}, {"workload", "mlp"}, {"stack", stack}, {"device", "cpu"}};
  cell.request.cell_id = cell_id_of(cell.request);
  return cell;
}

// A cell on `new` whose check failed, its reference on `old`, and a cell that has nothing to do with them.
struct FailedRun {
  explicit FailedRun(std::vector<CellThreshold> thresholds = {threshold(kMetric, true)}) {
    Cell cell = cell_on("new");
    Cell reference = cell_on("old");
    Cell other = cell_on("new");
    other.request.workload.preset = other.coordinates["workload"] = "wide";
    other.request.cell_id = cell_id_of(other.request);
    cell.reference_cell_id = reference.request.cell_id;
    cell.thresholds = thresholds;
    reference.thresholds = thresholds;
    for (const Cell& each : {cell, reference, other}) plan.cells.push_back({each, std::nullopt, {}});
    verdict.info.run_id = "r-1";
    judged.cell_id = cell.request.cell_id;
    judged.slug = cell.slug;
    for (const CellThreshold& each : thresholds) judged.checks.push_back(check(each.metric));
  }

  CheckedCell checked(const std::string& metric = kMetric) const { return checked_cell(verdict, plan, judged, metric); }

  Plan plan;
  RunVerdict verdict;
  CellVerdict judged;
};

CheckObservation observed(CheckStatus status, const std::string& reason, Outcome outcome,
                          const std::string& cell_reason) {
  CheckObservation observation;
  observation.check.status = status;
  observation.check.reason = reason;
  observation.check.sentence = "x1.85";
  observation.outcome = outcome;
  observation.cell_reason = cell_reason;
  observation.why = "the cell says so";
  return observation;
}

TEST_CASE("a cell is asked on another stack with its reference, and nothing else of its run", "[bisect]") {
  const CheckedCell checked = FailedRun({threshold("numerics.final_loss", false), threshold(kMetric, true)}).checked();
  CHECK(fixed_stacks(checked) == std::vector<std::string>{"old"});
  const std::vector<PlannedCell> cells = cells_on(checked, "between");
  REQUIRE(cells.size() == 2);
  CHECK(cells[0].cell.request.stack == "between");
  CHECK(cells[0].cell.coordinates.at("stack") == "between");
  CHECK(cells[0].cell.slug == "smoke-mlp-between-cpu-fp32");
  CHECK(cells[0].cell.request.cell_id == cell_id_of(cells[0].cell.request));
  REQUIRE(cells[0].cell.thresholds.size() == 1);
  CHECK(cells[0].cell.thresholds[0].metric == kMetric);
  CHECK(cells[1].cell.request.stack == "old");
  CHECK(cells[1].cell.thresholds.empty());
  CHECK(cells[0].cell.reference_cell_id == cells[1].cell.request.cell_id);
}

TEST_CASE("a cell that comes to the stack of its reference is still another one", "[bisect]") {
  const std::vector<PlannedCell> cells = cells_on(FailedRun().checked(), "old");
  CHECK(cells[0].cell.request.stack == cells[1].cell.request.stack);
  CHECK(cells[0].cell.request.cell_id != cells[1].cell.request.cell_id);
  CHECK(cells[0].cell.reference_cell_id == cells[1].cell.request.cell_id);
  CHECK(cells[0].cell.coordinates != cells[1].cell.coordinates);
  CHECK(cells[0].cell.slug != cells[1].cell.slug);
}

TEST_CASE("a reference on the cell's own stack moves with it", "[bisect]") {
  FailedRun run;
  Cell& reference = run.plan.cells[1].cell;
  reference.request.stack = reference.coordinates["stack"] = "new";
  reference.request.knobs["precision"] = "bf16";
  reference.request.cell_id = cell_id_of(reference.request);
  run.plan.cells[0].cell.reference_cell_id = reference.request.cell_id;
  const CheckedCell checked = run.checked();
  CHECK(fixed_stacks(checked).empty());
  const std::vector<PlannedCell> cells = cells_on(checked, "between");
  CHECK(cells[1].cell.request.stack == "between");
  CHECK(cells[0].cell.reference_cell_id == cells[1].cell.request.cell_id);
}

TEST_CASE("a bound on the value itself takes no reference, and the references of images become the good image",
          "[bisect]") {
  CHECK(FailedRun({threshold(kMetric, false)}).checked().cells.size() == 1);
  CheckedCell checked = FailedRun().checked();
  hold_against(checked, "good");
  CHECK(fixed_stacks(checked) == std::vector<std::string>{"good"});
  CHECK(checked.cells[0].cell.request.stack == "new");
}

TEST_CASE("seeds and the same work on one rank come along for a check that needs them", "[bisect]") {
  FailedRun run({threshold("numerics.layout_mismatches", false)});
  Cell& cell = run.plan.cells[0].cell;
  Cell alone = cell;
  cell.request.world_size = 2;
  cell.coordinates["world_size"] = "2";
  alone.reference_cell_id.reset();
  alone.coordinates["world_size"] = "1";
  alone.request.knobs["accumulate"] = "2";
  run.plan.cells.push_back({alone, std::nullopt, {}});
  const CheckedCell checked = run.checked("numerics.layout_mismatches");
  REQUIRE(checked.cells.size() == 3);
  CHECK(checked.cells[1].cell.request.world_size == 1);
  CHECK(checked.cells[2].cell.request.stack == "old");

  FailedRun seeds({threshold("numerics.seed_spread_rel", false)});
  Cell other_seed = seeds.plan.cells[0].cell;
  other_seed.request.knobs["seed"] = other_seed.coordinates["seed"] = "7";
  other_seed.request.cell_id = cell_id_of(other_seed.request);
  seeds.plan.cells.push_back({other_seed, std::nullopt, {}});
  const std::vector<PlannedCell> moved = cells_on(seeds.checked("numerics.seed_spread_rel"), "between");
  REQUIRE(moved.size() == 3);
  CHECK(moved[1].cell.request.knobs.at("seed") == "7");
  CHECK(moved[1].cell.request.stack == "between");
}

TEST_CASE("the same check that fails for the same reason is bad, and a cell that passed is good", "[bisect]") {
  const CheckedCell checked = FailedRun().checked();
  const auto state = [&](CheckStatus status, const std::string& reason, Outcome outcome, const std::string& cell_reason,
                         bool is_of_components = false) {
    const PointAnswer answer = answer_of(checked, observed(status, reason, outcome, cell_reason), is_of_components);
    CHECK_FALSE(answer.why.empty());
    return answer.state;
  };
  using enum CheckStatus;
  CHECK(state(failed, "over_bound", Outcome::failed, kMetric) == PointState::as_bad);
  CHECK(state(failed, "not_finite", Outcome::failed, kMetric) == PointState::untestable);
  CHECK(state(failed, "over_bound", Outcome::failed, "non_finite_loss") == PointState::untestable);
  CHECK(state(passed, "within_bound", Outcome::passed, "all_checks_passed") == PointState::as_good);
  CHECK(state(passed, "gain", Outcome::passed, "all_checks_passed") == PointState::as_good);
  CHECK(state(passed, "within_bound", Outcome::failed, "non_finite_loss") == PointState::untestable);
  CHECK(state(inconclusive, "noise", Outcome::inconclusive, "noise") == PointState::untestable);
  // Another torch than its reference's is asked about, but for hybrids, which have some of its libraries.
  CHECK(state(passed, "within_bound", Outcome::inconclusive, "same_libraries") == PointState::untestable);
  CHECK(state(passed, "within_bound", Outcome::inconclusive, "same_libraries", true) == PointState::as_good);
  CHECK(state(passed, "within_bound", Outcome::inconclusive, "wrong_libraries", true) == PointState::untestable);
}

TEST_CASE("a check that decides nothing, did not fail or cannot be asked again is refused", "[bisect]") {
  FailedRun run({threshold(kMetric, true), threshold("memory.peak_rss", true, Gate::record_only),
                 threshold("throughput.step_time", true)});
  run.judged.checks[1].gate = Gate::record_only;
  run.judged.checks[2] = check("throughput.step_time", CheckStatus::passed);
  CHECK_NOTHROW(run.checked());
  CHECK_THROWS_WITH(run.checked("memory.peak_anonymuos"), Contains("did you mean `memory.peak_anonymous`?"));
  CHECK_THROWS_WITH(run.checked("memory.peak_rss"), Contains("has no armed bound"));
  CHECK_THROWS_WITH(run.checked("throughput.step_time"), Contains("did not fail in that run (passed): "));
  run.judged.checks.push_back(check("non_finite_loss"));  // of no threshold
  CHECK_THROWS_WITH(run.checked("non_finite_loss"), Contains("has no bound of its own"));
  run.plan.cells[1].cell.injections[0] = {};
  CHECK_THROWS_WITH(run.checked(), Contains("the run is a drill"));
  run.plan.cells[1].cell.injections.clear();
  run.plan.cells[0].cell.request.workload.package_file = "/x/package.pt2";
  CHECK_THROWS_WITH(run.checked(), Contains("runs a package, which is code"));
  run.plan.hosts.emplace_back();
  CHECK_THROWS_WITH(run.checked(), Contains("merged run"));
}

TEST_CASE("another bound, check or workload is another question, and where a bound was written is not", "[bisect]") {
  FailedRun run;
  const std::string question = question_of(run.checked());
  run.verdict.info.run_id = "r-2";
  CHECK(question_of(run.checked()) == question);
  CellThreshold elsewhere = threshold(kMetric, true);
  elsewhere.mark = {"elsewhere.yaml", 3, 4};
  run.plan.cells[0].cell.thresholds = {elsewhere};
  run.plan.cells[0].cell.memory_bytes = 5;
  CHECK(question_of(run.checked()) == question);
  FailedRun other_bound;
  CellThreshold wide = threshold(kMetric, true);
  wide.bound.limit = 0.2;
  other_bound.plan.cells[0].cell.thresholds = {wide};
  CHECK(question_of(other_bound.checked()) != question);
  run.judged.checks[0].reason = "not_finite";
  CHECK(question_of(run.checked()) != question);
  run.judged.checks[0].reason = "over_bound";
  run.plan.cells[1].cell.request.workload.steps = 7;
  CHECK(question_of(run.checked()) != question);
}

TEST_CASE("a value is a ratio where there is one", "[bisect]") {
  CheckResult seen;
  CHECK(value_text(seen) == "-");
  seen.unit = "bytes";
  seen.measured = 16.0 * (1 << 20);
  CHECK(value_text(seen) == "16.0 MiB");
  seen.ratio = 1.854;
  CHECK(value_text(seen) == "x1.85");
}

}  // namespace
}  // namespace reprobench
