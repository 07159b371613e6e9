// The whole document of a run with a cell of every outcome, line by line.
#include "ci/catch.hpp"
#include "matrix/verdict/junit.hpp"

namespace reprobench {
namespace {

CellVerdict cell_with(const std::string& slug, const std::string& stack, Outcome outcome) {
  CellVerdict cell;
  cell.slug = slug;
  if (!stack.empty()) cell.coordinates["stack"] = stack;
  cell.outcome = outcome;
  cell.reason = "reason";
  cell.sentence = "why " + slug;
  cell.reproduce = "run " + slug;
  cell.next = "mend " + slug;
  return cell;
}

CheckResult checked(const std::string& metric, CheckStatus status, Gate gate = Gate::armed) {
  CheckResult check;
  check.metric = metric;
  check.status = status;
  check.gate = gate;
  check.reason = "code";
  check.sentence = metric + " says";
  check.bound = "max: 1";
  check.origin = "suite.yaml:7:3";
  return check;
}

AttemptSummary took_ns(std::int64_t duration_ns) {
  AttemptSummary attempt;
  attempt.duration_ns = duration_ns;
  return attempt;
}

TEST_CASE("a document has each cell's checks, or the cell where they do not say what it came to", "[verdict]") {
  RunVerdict verdict;
  verdict.matrix = "m";
  verdict.word = "failed";
  verdict.sentence = "m NOT qualified";
  verdict.planted = {"a fault"};
  CellVerdict failed = cell_with("one", "b", Outcome::failed);
  failed.checks = {checked("x", CheckStatus::failed), checked("y", CheckStatus::inconclusive),
                   checked("z", CheckStatus::passed), checked("w", CheckStatus::failed, Gate::record_only)};
  failed.checks[0].of = "triad";
  failed.attempts = {took_ns(1'000'400'000), took_ns(200'000)};
  CellVerdict crashed = cell_with("two", "a", Outcome::failed);
  crashed.attempts = {took_ns(499'999)};
  verdict.cells = {failed,
                   crashed,
                   cell_with("three", "b", Outcome::skipped),
                   cell_with("four", "", Outcome::recorded),
                   cell_with("five", "", Outcome::errored),
                   cell_with("six", "", Outcome::inconclusive),
                   cell_with("seven", "", Outcome::unfinished),
                   cell_with("eight", "", Outcome::passed)};
  CHECK(to_junit(verdict) == R"(<?xml version="1.0"?>
<testsuites name="DRILL m" tests="12" failures="3" errors="4" skipped="3" time="1.001">
  <testsuite name="verdict" tests="1" failures="1" errors="0" skipped="0" time="0.000">
    <testcase classname="m" name="verdict of the run" time="0.000">
      <failure type="failed" message="m NOT qualified"></failure>
    </testcase>
  </testsuite>
  <testsuite name="b" tests="5" failures="1" errors="1" skipped="2" time="1.001">
    <testcase classname="b" name="one / x of triad" time="1.001">
      <failure type="code" message="x says">max: 1 set at suite.yaml:7:3
mend one
run one</failure>
    </testcase>
    <testcase classname="b" name="one / y" time="0.000">
      <error type="code" message="y says">run one</error>
    </testcase>
    <testcase classname="b" name="one / z" time="0.000" />
    <testcase classname="b" name="one / w" time="0.000">
      <skipped type="record_only" message="w says"></skipped>
    </testcase>
    <testcase classname="b" name="three" time="0.000">
      <skipped type="reason" message="why three"></skipped>
    </testcase>
  </testsuite>
  <testsuite name="a" tests="1" failures="1" errors="0" skipped="0" time="0.000">
    <testcase classname="a" name="two" time="0.000">
      <failure type="reason" message="why two">run two</failure>
    </testcase>
  </testsuite>
  <testsuite name="" tests="5" failures="0" errors="3" skipped="1" time="0.000">
    <testcase classname="four" name="four" time="0.000">
      <skipped type="reason" message="why four"></skipped>
    </testcase>
    <testcase classname="five" name="five" time="0.000">
      <error type="reason" message="why five">run five</error>
    </testcase>
    <testcase classname="six" name="six" time="0.000">
      <error type="reason" message="why six">run six</error>
    </testcase>
    <testcase classname="seven" name="seven" time="0.000">
      <error type="reason" message="why seven">run seven</error>
    </testcase>
    <testcase classname="eight" name="eight" time="0.000" />
  </testsuite>
</testsuites>
)");
}

TEST_CASE("the run's own test case says the verdict, whatever its word", "[verdict]") {
  const auto told = [](const char* word) {
    RunVerdict verdict;
    verdict.matrix = "m";
    verdict.word = word;
    verdict.sentence = "the sentence";
    const std::string text = to_junit(verdict);
    const auto begin = text.find("time=\"0.000\">\n      <") + 20;
    return text.substr(begin, text.find("\n    </testcase>") - begin);
  };
  CHECK(told("passed") == "<system-out>the sentence</system-out>");
  CHECK(told("failed") == R"(<failure type="failed" message="the sentence"></failure>)");
  for (const char* word : {"undecided", "nothing_ran", "interrupted"}) {
    CHECK(told(word) == std::string("<error type=\"") + word + R"(" message="the sentence"></error>)");
  }
}

}  // namespace
}  // namespace reprobench
