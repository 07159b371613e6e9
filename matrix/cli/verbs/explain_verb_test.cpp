// All that `explain` says of a cell, as a whole text, of a verdict that this test wrote.
#include <limits>

#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/record/verdict_seal.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

CheckResult timed_check() {
  CheckResult check;
  check.metric = "throughput.step_time";
  check.dimension = Dimension::throughput;
  check.unit = "ns";
  check.status = CheckStatus::failed;
  check.reason = "over_bound";
  check.sentence = "slower";
  check.measured = 2'000'000;
  check.reference = 1'000'000;
  check.ratio = 2.0;
  check.ratio_low = 1.9;
  check.ratio_high = kInfinity;
  check.noise_rel = 0.0123;
  check.margin_rel = -0.9;
  check.samples = 30;
  check.bound = "max_regression: 5%";
  check.origin = "suite.yaml:3:5";
  check.phases = {{"data", 100, std::nullopt, std::nullopt, std::nullopt, std::nullopt},
                  {"forward", 1'500, 500, 3.0, 2.5, 3.5}};
  return check;
}

CheckResult recorded_check() {
  CheckResult check;
  check.metric = "device.bandwidth";
  check.of = "triad to peak";
  check.unit = "GB/s";
  check.better = Better::higher;
  check.gate = Gate::record_only;
  check.status = CheckStatus::passed;
  check.reason = "within_bound";
  check.sentence = "fast enough";
  check.bound = "min: 1";
  check.origin = "suite.yaml:4:5";
  check.divergence = CheckDivergence{{7, "fc1.weight", "parameter", "aaaa", "bbbb"}, "repeat 0"};
  return check;
}

RepeatedMeasurement measured(int repeat) {
  RepeatedMeasurement repeated{repeat, {}};
  ProbeMeasurement& measurement = repeated.measurement;
  measurement.operation = "triad";
  measurement.status = MeasurementStatus::measured;
  measurement.labels = {{"bytes", "1024"}, {"type", "f32"}};
  measurement.finding = "too slow";
  measurement.error_rel = 1e-7;
  measurement.error_bound_rel = 1e-6;
  measurement.results_compared = 19;
  measurement.results_differing = 2;
  measurement.peak = 3350.5;
  measurement.peak_source = "vendor";
  measurement.unit = "GB/s";
  measurement.kernels = {"kernel_a", "kernel_b"};
  measurement.samples = {1.234567, 20};
  return repeated;
}

CellVerdict whole_cell() {
  CellVerdict cell;
  cell.cell_id = "0123456789ab";
  cell.slug = "the-slug";
  cell.outcome = Outcome::failed;
  cell.reason = "throughput.step_time";
  cell.sentence = "it is slower";
  cell.reference_cell_id = "ba9876543210";
  cell.notes = {"note one", "note two"};
  AttemptSummary first;
  first.end = AttemptEnd::completed;
  first.chain = "c0ffee";
  AttemptSummary second;
  second.repeat = 1;
  second.attempt = 2;
  second.end = AttemptEnd::crash;
  second.detail = "SIGSEGV";
  second.injected = "crash at step 3";
  cell.attempts = {first, second};
  cell.checks = {timed_check(), recorded_check()};
  cell.measurements = {measured(0)};
  cell.reproduce = "reprobench run --cell 0123456789ab";
  return cell;
}

// A store with one judged run of `cells`.
class JudgedRun {
 public:
  explicit JudgedRun(std::vector<CellVerdict> cells) {
    RunVerdict verdict;
    verdict.info.run_id = "r-1";
    RunDirectory run = RunDirectory::create(folder_.path, std::nullopt, verdict.info, sample_plan({}));
    verdict.seal = run.finish(verdict.info);
    verdict.word = "failed";
    verdict.exit_code = ExitCode::failed;
    verdict.totals.planned = static_cast<int>(cells.size());
    for (const CellVerdict& cell : cells) ++verdict.totals[cell.outcome];
    verdict.cells = std::move(cells);
    write_sealed_verdict(folder(), to_json(verdict).dump());
  }
  fs::path folder() const { return folder_.path / "runs/r-1"; }
  // The store that the reproduce line names (#41) is another one every time.
  Said explain(const std::vector<std::string>& words) const {
    Said said = said_by(&declare_explain, folder_.path, words);
    const std::string store = "--store " + folder_.path.string() + " ";
    const std::size_t at = said.out.find(store);
    if (at != std::string::npos) said.out.erase(at, store.size());
    return said;
  }

 private:
  TemporaryFolder folder_;
};

constexpr const char* kCellHead =
    "run r-1\n"
    "0123456789ab  the-slug\n"
    "failed · throughput.step_time: it is slower\n"
    "compared with cell ba9876543210\n"
    "note: note one\n"
    "note: note two\n"
    "  repeat 0 attempt 0  completed  chain c0ffee\n"
    "  repeat 1 attempt 2  crash: SIGSEGV  chain   planted: crash at step 3\n";

constexpr const char* kTimed =
    "throughput.step_time · failed\n"
    "    slower\n"
    "    bound      max_regression: 5%   set at suite.yaml:3:5\n"
    "    measured   2.000 ms   reference 1.000 ms\n"
    "    ratio      x2.000 [1.900, inf]   lower is better\n"
    "    phases     data           0.1 us   reference -\n"
    "               forward        1.5 us   reference 0.5 us   x3.000 [2.500, 3.500]\n"
    "    samples    30   noise 1.23 %   margin -90.00 %\n"
    "    reason     over_bound\n";

constexpr const char* kRecorded =
    "device.bandwidth of triad to peak · passed (record only: decides nothing)\n"
    "    fast enough\n"
    "    bound      min: 1   set at suite.yaml:4:5\n"
    "    measured   -   reference -\n"
    "    samples    0   noise -   margin -\n"
    "    reason     within_bound\n"
    "    divergence step 7 · fc1.weight (parameter)   against repeat 0\n"
    "               digest aaaa\n"
    "               instead of bbbb\n";

constexpr const char* kMeasured =
    "measurements\n"
    "  repeat 0 triad bytes=1024 type=f32 · measured\n"
    "    too slow\n"
    "    error      1e-07 against fp64, bound 1e-06\n"
    "    repeated   19 results compared with the first, 2 differ\n"
    "    peak       3350.5 GB/s (vendor)\n"
    "    done by    kernels that tell no algorithm\n"
    "               kernel_a\n"
    "               kernel_b\n"
    "    samples    1.2346 20 GB/s\n";

constexpr const char* kLast = "reproduce: reprobench run --cell 0123456789ab\n";

TEST_CASE("a cell is explained by its attempts, its checks and what it measured", "[cli]") {
  const JudgedRun run({whole_cell()});
  const std::string whole = std::string(kCellHead) + kTimed + kRecorded + kMeasured + kLast;
  for (const char* name : {"the-slug", "0123456789ab", "0123"}) {
    const Said said = run.explain({name});
    CHECK(said.code == ExitCode::passed);
    CHECK(said.out == whole);
    CHECK(said.err.empty());
  }
  CHECK(run.explain({"the-slug", "--run", "r-1"}).out == whole);
  CHECK(run.explain({"the-slug", "--run", run.folder().string()}).out == whole);
}

TEST_CASE("one check is explained alone", "[cli]") {
  const JudgedRun run({whole_cell()});
  CHECK(run.explain({"the-slug", "device.bandwidth"}).out == std::string(kCellHead) + kRecorded + kMeasured + kLast);
  CHECK_THROWS_WITH(run.explain({"the-slug", "device.bandwith"}),
                    Contains("no check of cell the-slug `device.bandwith`; did you mean `device.bandwidth`?"));
  const auto document = nlohmann::json::parse(run.explain({"the-slug", "device.bandwidth", "--json"}).out);
  CHECK(document.at("schema") == "reprobench/explain");
  CHECK(document.at("run") == "r-1");
  REQUIRE(document.at("cell").at("checks").size() == 1);
  CHECK(document.at("cell").at("checks").at(0).at("metric") == "device.bandwidth");
}

TEST_CASE("a cell that never began is explained in three lines", "[cli]") {
  CellVerdict cell;
  cell.cell_id = "ffff";
  cell.slug = "other";
  cell.outcome = Outcome::skipped;
  cell.reason = "device-class";
  cell.sentence = "no GPU";
  cell.reproduce = "again";
  const JudgedRun run({whole_cell(), cell});
  CHECK(run.explain({"other"}).out == "run r-1\nffff  other\nskipped · device-class: no GPU\nreproduce: again\n");
  CHECK_THROWS_WITH(run.explain({"othr"}), Contains("no cell of this run `othr`; did you mean `other`?"));
}

TEST_CASE("numbers that are none are said by their words", "[cli]") {
  CellVerdict cell = whole_cell();
  CheckResult& check = cell.checks[0];
  check.measured = std::numeric_limits<double>::quiet_NaN();
  check.reference = -kInfinity;
  check.noise_rel = kInfinity;
  check.phases.clear();
  check.ratio.reset();
  ProbeMeasurement& measurement = cell.measurements[0].measurement;
  measurement.samples = {1, kInfinity};
  measurement.error_bound_rel.reset();
  measurement.error_rel = kInfinity;
  measurement.algorithm = "Winograd";
  const std::string text = JudgedRun({cell}).explain({"the-slug"}).out;
  CHECK_THAT(text, Contains("    measured   nan   reference -inf\n    samples    30   noise inf   margin"));
  CHECK_THAT(text, Contains("    samples    1 inf GB/s\n"));
  CHECK_THAT(text, Contains("    error      inf against fp64, bound -\n"));
  CHECK_THAT(text, Contains("    done by    Winograd\n"));
}

TEST_CASE("why an algorithm is not known is said beside what ran, and where nothing was seen", "[cli]") {
  CellVerdict cell = whole_cell();
  ProbeMeasurement& measurement = cell.measurements[0].measurement;
  measurement.algorithm_unknown = "no name of what ran tells it";
  CHECK_THAT(JudgedRun({cell}).explain({"the-slug"}).out,
             Contains("    done by    not known: no name of what ran tells it\n               kernel_a\n"));
  measurement.kernels.clear();
  CHECK_THAT(JudgedRun({cell}).explain({"the-slug"}).out,
             Contains("    done by    not known: no name of what ran tells it\n    samples "));
}

TEST_CASE("a measurement without more than samples has one line of them", "[cli]") {
  CellVerdict cell = whole_cell();
  cell.checks.clear();
  ProbeMeasurement plain;
  plain.operation = "launch";
  plain.unit = "ns";
  cell.measurements = {{1, plain}, {1, plain}};
  cell.measurements[1].measurement.samples = {5};
  cell.measurements[1].measurement.status = MeasurementStatus::measured;
  CHECK(JudgedRun({cell}).explain({"the-slug"}).out ==
        std::string(kCellHead) +
            "measurements\n  repeat 1 launch · unsupported\n  repeat 1 launch · measured\n    samples    5 ns\n" +
            kLast);
}

CellComparison comparison_of(const std::string& measured) {
  CellComparison comparison;
  comparison.measured = measured;
  comparison.expected = "r-1:ba9876543210";
  comparison.measured_name = "the-slug";
  comparison.expected_name = "its reference";
  comparison.workload = "mlp";
  comparison.word = Match::differs;
  comparison.sentence = "first difference\nin step 5";
  return comparison;
}

TEST_CASE("what `compare` left of a cell is shown after it, of that cell alone, and not beside one check", "[cli]") {
  const JudgedRun run({whole_cell()});
  written_file(run.folder() / "comparisons.json",
               to_json({comparison_of("r-1:other"), comparison_of("r-1:0123456789ab")}, {}).dump());
  const Said said = run.explain({"the-slug"});
  CHECK_THAT(said.out,
             Catch::EndsWith(std::string(kLast) +
                             "the-slug against its reference: mlp\n  differs     first difference in step 5\n"));
  CHECK_THAT(run.explain({"the-slug", "device.bandwidth"}).out, !Contains("its reference"));
  written_file(run.folder() / "comparisons.json", "{");
  const Said broken = run.explain({"the-slug"});
  CHECK(broken.code == ExitCode::passed);
  CHECK_THAT(broken.err, Catch::StartsWith("comparisons.json is not shown: "));
  CHECK_THAT(broken.out, Catch::EndsWith(kLast));
}

// The facts alone answer: no run is looked for.
Said ask(const std::vector<std::string>& words, const std::string& store = "/nowhere") {
  std::vector<std::string> all = {"stack"};
  all.insert(all.end(), words.begin(), words.end());
  return said_by(&declare_explain, store, all);
}

TEST_CASE("a question about a stack is answered by the facts, and its answer is the exit code", "[cli]") {
  const SmallProject project;
  const Said no = ask({"torch=2.9 cuda=11.8"});
  CHECK(no.code == ExitCode::failed);
  CHECK_THAT(no.out,
             Catch::StartsWith("torch 2.9, cuda 11.8: contradicted\n"
                               "no        wheel            torch 2.9 never shipped with CUDA 11.8\n"
                               "                           instead: it exists with CUDA 12.6, 12.8, 12.9, 13.0;\n"
                               "                           CUDA 11.8 ended with torch 2.7.1\n"
                               "                           [I: E1 E4 E20 E9 E7]\n"
                               "known defects\n"
                               "  conv3d-bf16-memory (memory; conv3d, bf16)\n"));
  CHECK_THAT(no.out, Contains("\n  E7   published resolver data listing the last torch per wheel channel\n"));
  CHECK(ask({"torch=2.8", "cuda=12.8"}).code == ExitCode::passed);
  CHECK(ask({"torch=2.16"}).code == ExitCode::undecided);
}

TEST_CASE("the answer about a stack is a document, too", "[cli]") {
  const SmallProject project;
  const Said said = ask({"torch=2.8 cuda=12.8", "--json"});
  CHECK(said.code == ExitCode::passed);
  const json answer = json::parse(said.out);
  CHECK(answer.at("schema") == "reprobench/stack_answer");
  CHECK(answer.at("overall") == "exists");
  CHECK(answer.at("claims") == json{{"torch", "2.8"}, {"cuda", "12.8"}});
  CHECK(answer.at("findings").at(0).at("holds") == "yes");
  CHECK(answer.at("defects").at(0).at("id") == "conv3d-bf16-wrong");
  CHECK(answer.at("sources").contains("D1"));
}

TEST_CASE("what is no question about a stack is refused", "[cli]") {
  const SmallProject project;
  CHECK_THROWS_WITH(ask({"tocrh=2.9"}), "there is no component `tocrh`; did you mean `torch`?");
  for (const char* word : {"2.9", "torch", "torch 2.9"}) {
    CHECK_THROWS_WITH(ask({word}), Contains(" is no NAME=VERSION, as in `torch=2.9 cuda=12.8`"));
  }
  CHECK_THROWS_WITH(ask({"torch=2.9", "cuda"}), "`cuda` is no NAME=VERSION, as in `torch=2.9 cuda=12.8`");
  CHECK_THROWS_WITH(ask({"torch=2.9", "--run", "r-1"}),
                    "a question about a stack is answered by the facts, not by a run");
}

TEST_CASE("a cell may be called stack, and one check is explained at a time", "[cli]") {
  CellVerdict cell = whole_cell();
  cell.slug = "stack";
  const JudgedRun run({cell});
  CHECK_THAT(run.explain({"stack"}).out, Contains("0123456789ab  stack\n"));
  CHECK_THAT(run.explain({"stack", "device.bandwidth"}).out, Contains("device.bandwidth"));
  CHECK_THROWS_WITH(run.explain({"stack", "device.bandwidth", "throughput.step_time"}),
                    "one check of a cell is explained at a time");
}

}  // namespace
}  // namespace reprobench
