#include "matrix/verdict/junit.hpp"

#include <limits>
#include <set>

#include <pugixml.hpp>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::threshold;

pugi::xml_document parsed(const RunVerdict& verdict) {
  pugi::xml_document document;
  REQUIRE(document.load_string(to_junit(verdict).c_str()));
  return document;
}

int count(const pugi::xml_document& document, const char* path) {
  return static_cast<int>(document.select_nodes(path).size());
}

RunRecord run_with_every_outcome() {
  RunRecord run = sample::run(7, 1.10,
                              {threshold("throughput.step_time", Bound::Kind::max_regression, 0.05, true),
                               threshold("memory.device_peak", Bound::Kind::max, 1, false)});
  PlannedCell skipped = run.plan.cells[1];
  skipped.cell.request.cell_id = "dddddddddddd";
  skipped.cell.slug = "skipped";
  skipped.skip = Skip{"device-class", "needs a GPU"};
  run.plan.cells.push_back(skipped);
  return run;
}

TEST_CASE("failed is a failure, inconclusive an error, skipped is skipped, each with its reason", "[verdict]") {
  const auto document = parsed(judge(run_with_every_outcome()));
  CHECK(count(document, "//testcase/failure[@type='over_bound']") == 1);
  CHECK(count(document, "//testcase/error[@type='missing_metric']") == 1);
  CHECK(count(document, "//testcase/skipped[@type='device-class'][@message='needs a GPU']") == 1);
  CHECK(count(document, "//testsuite[@name='stack-b'][@tests='3'][@failures='1'][@errors='1'][@skipped='1']") == 1);
}

TEST_CASE("a crash is one failure of the cell, not one for each check", "[verdict]") {
  RunRecord run = run_with_every_outcome();
  sample::candidate(run).attempts[0].end = AttemptEnd::crash;
  const auto document = parsed(judge(run));
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase/failure[@type='crash']") == 1);
}

TEST_CASE("test cases have unique names", "[verdict]") {
  const auto document = parsed(judge(run_with_every_outcome()));
  std::set<std::string> names;
  for (const auto& found : document.select_nodes("//testcase")) {
    CHECK(names.insert(found.node().attribute("name").value()).second);
  }
  CHECK(names.size() == 5);
}

TEST_CASE("a cell has a test case of its own where no armed check says what it came to", "[verdict]") {
  struct Row {
    Outcome outcome;
    Gate gate;
    CheckStatus status;
    const char* reason;
    bool has_own;
  };
  const auto armed = Gate::armed;
  for (const Row& row : {Row{Outcome::passed, armed, CheckStatus::passed, "", false},
                         Row{Outcome::passed, Gate::record_only, CheckStatus::passed, "", true},
                         Row{Outcome::passed, armed, CheckStatus::failed, "", true},
                         Row{Outcome::failed, armed, CheckStatus::failed, "over_bound", false},
                         Row{Outcome::failed, armed, CheckStatus::passed, "", true},
                         Row{Outcome::failed, Gate::record_only, CheckStatus::failed, "over_bound", true},
                         Row{Outcome::inconclusive, armed, CheckStatus::inconclusive, "noise", false},
                         Row{Outcome::inconclusive, armed, CheckStatus::inconclusive, "incomplete_repeats", true},
                         Row{Outcome::inconclusive, armed, CheckStatus::passed, "", true},
                         Row{Outcome::errored, armed, CheckStatus::inconclusive, "lost", true},
                         Row{Outcome::unfinished, armed, CheckStatus::passed, "", true},
                         Row{Outcome::skipped, armed, CheckStatus::passed, "", true},
                         Row{Outcome::recorded, Gate::record_only, CheckStatus::passed, "", true}}) {
    CAPTURE(to_string(row.outcome), to_string(row.gate), to_string(row.status), row.reason);
    RunVerdict verdict;
    CellVerdict cell;
    cell.slug = "the-cell";
    cell.outcome = row.outcome;
    CheckResult check;
    check.metric = "memory.peak_rss";
    check.gate = row.gate;
    check.status = row.status;
    check.reason = row.reason;
    cell.checks = {check};
    verdict.cells = {cell};
    CHECK(count(parsed(verdict), "//testcase[@name='the-cell']") == (row.has_own ? 1 : 0));
  }
}

TEST_CASE("one metric of two measurements is two test cases, of which neither hides the other", "[verdict]") {
  std::vector<CellThreshold> asked(3, threshold("device.bandwidth_share", Bound::Kind::min, 0.9, false));
  asked[0].of = {"triad", {}, "peak"};
  asked[1].of = {"triad", {}, "copy"};
  asked[2].of = {"copy", {{"size", "1MiB"}}, "peak"};
  const auto document = parsed(judge(sample::run(1, 1.0, asked)));
  for (const char* of : {"triad to peak", "triad to copy", "copy size=1MiB to peak"}) {
    CAPTURE(of);
    const std::string name = std::string("suite-mlp-stack-b / device.bandwidth_share of ") + of;
    CHECK(count(document, ("//testsuite[@name='stack-b']/testcase[@name='" + name + "']/error").c_str()) == 1);
  }
}

TEST_CASE("the first test case is the verdict of the run, which is no sum of its cells", "[verdict]") {
  const auto word_of = [](const RunRecord& run, const char* element) {
    const auto document = parsed(judge(run));
    return count(document, (std::string("/testsuites/testsuite[1]/testcase/") + element).c_str());
  };
  const std::vector<CellThreshold> holds = {threshold("memory.peak_rss", Bound::Kind::max, 1e12, false)};
  RunRecord run = sample::run(7, 1.0, holds);
  CHECK(word_of(run, "error") + word_of(run, "failure") == 0);
  SECTION("a required cell that did not run is an error, though every cell that ran passed") {
    run.plan.cells[0].skip = Skip{"device-class", "needs a GPU"};
    run.plan.cells[0].cell.required = true;
    CHECK(word_of(run, "error[@type='undecided']") == 1);
  }
  SECTION("a drill is never without one") {
    run.plan.cells[1].cell.injections[0] = {"weight_ulp", 3, "fc1.weight", 0};
    CHECK(word_of(run, "error[@type='undecided']") == 1);
    CHECK(count(parsed(judge(run)), "/testsuites[starts-with(@name, 'DRILL')]") == 1);
  }
  SECTION("a failure is one") { CHECK(word_of(run_with_every_outcome(), "failure") == 1); }
}

TEST_CASE("a NaN that no threshold asks about is a failure, and what only records is never a pass", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {threshold("memory.peak_rss", Bound::Kind::max, 1e12, false, Gate::record_only)});
  CHECK(count(parsed(judge(run)), "//testsuite[@name='stack-b']/testcase/skipped") == 1);
  sample::candidate(run).attempts[0].lead().trace->steps[0].loss = exact_float(std::numeric_limits<float>::quiet_NaN());
  CHECK(count(parsed(judge(run)), "//testsuite[@name='stack-b']/testcase/failure[@type='non_finite_loss']") == 1);
}

TEST_CASE("a check that only records is skipped whichever way it went, never a failure", "[verdict]") {
  const auto recorded = threshold("memory.peak_rss", Bound::Kind::max, 1, false, Gate::record_only);
  const auto armed = threshold("memory.peak_rss", Bound::Kind::max, 1e12, false);
  const auto document = parsed(judge(sample::run(3, 1.0, {recorded, armed})));
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase") == 2);
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase/failure") == 0);
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase/error") == 0);
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase/skipped[@type='record_only']") == 1);
  CHECK(count(document, "//testsuite[@name='stack-b'][@tests='2'][@failures='0'][@errors='0'][@skipped='1']") == 1);
}

ExitRecord ended_after(std::int64_t duration_ns) {
  ExitRecord record;
  record.exit_code = 0;
  record.duration_ns = duration_ns;
  return record;
}

// Of every attempt 1.0004 s, of which a second rank took 1.2346 s in the candidate's first.
TEST_CASE("a cell's time is that of its attempts, its test cases add up to it, and the suites to theirs", "[verdict]") {
  RunRecord run = run_with_every_outcome();
  for (CellRecord& cell : run.cells) {
    for (AttemptRecord& attempt : cell.attempts) attempt.lead().exit = ended_after(1'000'400'000);
  }
  AttemptRecord& first = sample::candidate(run).attempts[0];
  first.ranks.push_back(first.lead());
  first.ranks[1].exit = ended_after(1'234'600'000);
  const auto document = parsed(judge(run));
  // 7 attempts a cell: 6 * 1.0004 + 1.2346 = 7.237; 7 * 1.0004 = 7.0028.
  CHECK(count(document, "//testsuite[@name='stack-b'][@time='7.237']") == 1);
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase[1][@time='7.237']") == 1);
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase[@time='0.000']") == 2);
  CHECK(count(document, "//testsuite[@name='stack-a'][@time='7.003']") == 1);
  CHECK(count(document, "//testsuite[@name='verdict'][@time='0.000']") == 1);
  CHECK(count(document, "/testsuites[@time='14.240']") == 1);
  CHECK(count(document, "//testcase[not(@time)]") == 0);
}

TEST_CASE("an attempt that left no exit record adds no time", "[verdict]") {
  const auto document = parsed(judge(run_with_every_outcome()));
  CHECK(count(document, "//testsuite[@name='stack-b'][@time='0.000']") == 1);
}

TEST_CASE("the root counts what its suites hold", "[verdict]") {
  RunRecord run = run_with_every_outcome();
  const auto document = parsed(judge(run));
  const pugi::xml_node root = document.child("testsuites");
  for (const char* total : {"tests", "failures", "errors", "skipped"}) {
    int sum = 0;
    for (const pugi::xml_node suite : root.children("testsuite")) sum += suite.attribute(total).as_int();
    CHECK(root.attribute(total).as_int(-1) == sum);
    CHECK(sum > 0);
  }
}

TEST_CASE("text from workers cannot break the XML", "[verdict]") {
  RunRecord run = run_with_every_outcome();
  sample::candidate(run).attempts[0].end = AttemptEnd::crash;
  sample::candidate(run).attempts[0].detail = "]]><failure/>\x1b[31m\x01 & \"quoted\" \xef\xbf\xbe \u202e";
  const std::string text = to_junit(judge(run));
  CHECK(text.find("\xef\xbf\xbe") == std::string::npos);
  CHECK(text.find("\u202e") == std::string::npos);
  const auto document = parsed(judge(run));
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase/failure") == 1);
}

}  // namespace
}  // namespace reprobench
