// A verdict's text as a whole, and the bounds on what it lists.
#include "matrix/cli/text/verdict_text.hpp"

#include <chrono>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/cli/text/progress.hpp"

namespace reprobench {
namespace {

CellVerdict ended(const std::string& slug, Outcome outcome, const std::string& reason) {
  CellVerdict cell;
  cell.slug = slug;
  cell.outcome = outcome;
  cell.reason = reason;
  cell.sentence = "why " + slug;
  cell.reproduce = "reprobench run --cell " + slug;
  return cell;
}

CheckResult check_of(Gate gate, CheckStatus status, bool gain) {
  CheckResult check;
  check.metric = "memory.peak_rss";
  check.gate = gate;
  check.status = status;
  check.gain = gain;
  check.sentence = "x1.3";
  check.gate_origin = "m.yaml:3:5";
  return check;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("durations are written in the unit that fits", "[cli]") {
  using namespace std::chrono_literals;
  CHECK(duration_text(0s) == "0.0s");
  CHECK(duration_text(3'240ms) == "3.2s");
  CHECK(duration_text(59'900ms) == "59.9s");
  CHECK(duration_text(59'960ms) == "1m00s");
  CHECK(duration_text(60s) == "1m00s");
  CHECK(duration_text(134s) == "2m14s");
  CHECK(duration_text(3'599s) == "59m59s");
  CHECK(duration_text(3'600s) == "1h00m");
  CHECK(duration_text(4'140s) == "1h09m");
  CHECK(duration_text(90'000s) == "25h00m");
}

TEST_CASE("what is open comes first by what it is, then what is recorded, the dimensions and the verdict", "[cli]") {
  RunVerdict verdict;
  verdict.cells = {ended("a", Outcome::inconclusive, "noise"),     ended("b", Outcome::passed, "all_checks_passed"),
                   ended("c", Outcome::failed, "crash"),           ended("d", Outcome::unfinished, "interrupted"),
                   ended("e", Outcome::unfinished, "interrupted"), ended("f", Outcome::errored, "lost")};
  verdict.cells[2].attempts.resize(2);
  verdict.cells[2].attempts[1].repeat = 1;
  verdict.cells[2].attempts[1].injected = "crash at step 3";
  verdict.cells[2].next = "reprobench explain c";
  verdict.cells[2].log_folder = "cells/c/r1a0";
  verdict.cells[4].attempts.resize(1);  // d never began and is nobody's to look at
  verdict.cells[1].checks = {
      check_of(Gate::armed, CheckStatus::passed, true), check_of(Gate::record_only, CheckStatus::passed, true),
      check_of(Gate::record_only, CheckStatus::failed, false), check_of(Gate::armed, CheckStatus::failed, false)};
  verdict.environments = {{"stack-a", {}, {}, "", {"torch 1.13.1 loads as 1.13.0"}}};
  verdict.dimensions = {{Dimension::numerics, "failed", "bits differ"},
                        {Dimension::memory, "not_checked", "nothing was asked"},
                        {Dimension::communication, "not_checked", "nothing was asked"}};
  verdict.totals.planned = 6;
  for (const CellVerdict& cell : verdict.cells) ++verdict.totals[cell.outcome];
  verdict.info.duration_ns = 94'000'000'000;
  verdict.word = "failed";
  verdict.exit_code = ExitCode::failed;
  verdict.sentence = "v2.9 NOT qualified";
  verdict.planted = {"crash at step 3 in 1 cell"};
  CHECK(verdict_text(verdict, "runs/r", Terminal(), "before\n") ==
        "DRILL         planted: crash at step 3 in 1 cell; whatever comes out, this run\n"
        "              qualifies nothing\n"
        "before\n"
        "FAILED        c · crash\n"
        "              why c\n"
        "              planted in repeat 1: crash at step 3\n"
        "  next        reprobench explain c\n"
        "  again       reprobench run --cell c\n"
        "  logs        runs/r/cells/c/r1a0\n"
        "ERRORED       f · lost\n"
        "              why f\n"
        "  again       reprobench run --cell f\n"
        "INCONCLUSIVE  a · noise\n"
        "              why a\n"
        "  again       reprobench run --cell a\n"
        "UNFINISHED    e · interrupted\n"
        "              why e\n"
        "  again       reprobench run --cell e\n"
        "over          b · memory.peak_rss: x1.3; only recorded: m.yaml:3:5\n"
        "gain          b · memory.peak_rss: x1.3\n"
        "gain          b · memory.peak_rss: x1.3; only recorded\n"
        "finding       stack-a: torch 1.13.1 loads as 1.13.0\n"
        "numerics      FAILED: bits differ\n"
        "not checked   memory, communication\n"
        "Summary [1m34s] 6 planned: 1 passed, 1 failed, 1 inconclusive, 1 errored, 2 unfinished\n"
        "Verdict FAILED (exit 1)\n"
        "v2.9 NOT qualified\n");
}

TEST_CASE("twenty open cells are listed, and the rest counted", "[cli]") {
  RunVerdict verdict;
  for (int i = 0; i < 20; ++i) verdict.cells.push_back(ended(fmt::format("cell-{}", i), Outcome::failed, "crash"));
  const std::string full = verdict_text(verdict, "r", Terminal());
  CHECK(count_of(full, "FAILED        ") == 20);
  CHECK(count_of(full, " more; see verdict.json") == 0);
  verdict.cells.push_back(ended("last", Outcome::failed, "crash"));
  const std::string over = verdict_text(verdict, "r", Terminal());
  CHECK(count_of(over, "FAILED        ") == 20);
  CHECK(count_of(over, "              and 1 more; see verdict.json\n") == 1);
}

TEST_CASE("three checks of a metric are listed and the rest counted, each metric by itself", "[cli]") {
  RunVerdict verdict;
  for (int i = 0; i < 2; ++i) verdict.cells.push_back(ended(fmt::format("cell-{}", i), Outcome::passed, "ok"));
  const auto over = [](const char* metric) {
    CheckResult check = check_of(Gate::record_only, CheckStatus::failed, false);
    check.metric = metric;
    return check;
  };
  verdict.cells[0].checks = {over("m.first"), over("m.second"), over("m.first")};
  verdict.cells[1].checks = {over("m.first"), check_of(Gate::armed, CheckStatus::passed, true)};
  CHECK_THAT(verdict_text(verdict, "r", Terminal()),
             Catch::Contains("over          cell-0 · m.first: x1.3; only recorded: m.yaml:3:5\n"
                             "over          cell-0 · m.first: x1.3; only recorded: m.yaml:3:5\n"
                             "over          cell-1 · m.first: x1.3; only recorded: m.yaml:3:5\n"
                             "over          cell-0 · m.second: x1.3; only recorded: m.yaml:3:5\n"
                             "gain          cell-1 · memory.peak_rss: x1.3\n"));
  verdict.cells[1].checks.push_back(over("m.first"));
  verdict.cells[1].checks.push_back(over("m.first"));
  const std::string more = verdict_text(verdict, "r", Terminal());
  CHECK(count_of(more, "m.first: x1.3") == 3);
  CHECK_THAT(more,
             Catch::Contains("              and 2 more of m.first; see verdict.json\nover          cell-0 · m.second"));
}

TEST_CASE("what is only recorded of context stacks is counted under the candidate's", "[cli]") {
  RunVerdict verdict;
  verdict.cells = {ended("new", Outcome::passed, "ok"), ended("old", Outcome::passed, "ok")};
  for (CellVerdict& cell : verdict.cells) {
    cell.coordinates = {{"stack", cell.slug}};
    cell.checks = {check_of(Gate::record_only, CheckStatus::failed, false)};
  }
  verdict.cells[1].checks.resize(2, verdict.cells[1].checks[0]);
  CHECK(count_of(verdict_text(verdict, "r", Terminal()), "over          ") == 3);  // nothing is required
  verdict.cells[0].required = true;
  CHECK_THAT(verdict_text(verdict, "r", Terminal()),
             Catch::StartsWith("over          new · memory.peak_rss: x1.3; only recorded: m.yaml:3:5\n"
                               "              2 of memory.peak_rss on stacks that nothing requires; see\n"
                               "              verdict.json\n"));
  verdict.cells[0].checks.clear();
  CHECK_THAT(verdict_text(verdict, "r", Terminal()),
             Catch::StartsWith("over          2 of memory.peak_rss on stacks that nothing requires; see\n"
                               "              verdict.json\n"));
}

TEST_CASE("a run without faults has no drill, and several faults are one line of it", "[cli]") {
  CHECK(drill_text({}).empty());
  CHECK(drill_text({"a", "b"}) == "DRILL         planted: a; b; whatever comes out, this run qualifies nothing\n");
}

}  // namespace
}  // namespace reprobench
