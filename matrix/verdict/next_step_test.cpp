#include "matrix/verdict/next_step.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/reason.hpp"

namespace reprobench {
namespace {

CellVerdict cell_that(Outcome outcome, const std::string& reason) {
  CellVerdict cell;
  cell.cell_id = "0a0a0a0a0a0a";
  cell.outcome = outcome;
  cell.reason = reason;
  cell.reproduce = "reprobench run --matrix m.yaml --cell 0a0a0a0a0a0a";
  return cell;
}

CheckResult a_check(const std::string& metric, CheckStatus status, Reason reason, Gate gate = Gate::armed) {
  CheckResult check;
  check.metric = metric;
  check.status = status;
  check.reason = reason;
  check.gate = gate;
  return check;
}

TEST_CASE("a cell that is as it should be needs nothing", "[verdict]") {
  CHECK(next_step(cell_that(Outcome::passed, "all_checks_passed"), "r1").empty());
  CHECK(next_step(cell_that(Outcome::recorded, "nothing_armed"), "r1").empty());
  CellVerdict skipped = cell_that(Outcome::skipped, "device-class");
  CHECK(next_step(skipped, "r1").empty());
  skipped.required = true;
  CHECK(next_step(skipped, "r1") == "required: run it where it can run, then `reprobench merge` the runs");
}

TEST_CASE("each reason that a person has to mend has its advice", "[verdict]") {
  struct Row {
    const char* reason;
    const char* advice;
  };
  for (const Row& row : {
           Row{"bad_injection",
               "name a tensor, element and step that the workload has; the sentence above says which it lacks"},
           Row{"input_changed", "put the file back that was planned, or plan and run anew with the one that is there"},
           Row{"input_refused", "the sentence above says what the file holds; mend it, then plan and run anew"},
           Row{"interrupted", "run it again"},
           Row{"not_started", "run it again"},
           Row{"unsupported", "exclude what this stack cannot do, or name another stack"},
           Row{"launch", "see `reprobench doctor` and `reprobench stack verify`"},
           Row{"store", "see that the store has space and can be written, then run it again"},
           Row{"gpu_hw", "see `reprobench doctor`; another GPU tells the device from the stack"},
           Row{"throttled", "let the GPU cool or lift its power cap, then run it again"},
           Row{"contended", "end what else computes on this GPU, then run it again"},
           Row{"busy_while_waiting",
               "see which of its threads computes (`top -H`), or time one after the other: take `turns` out of the "
               "suite"},
           Row{"reference_blas", "install an optimised BLAS; netlib's reference code judges no stack"},
           Row{"reference_failed", "mend the reference first: nothing can be compared with it"},
       }) {
    CHECK(next_step(cell_that(Outcome::inconclusive, row.reason), "r1") == row.advice);
    CHECK(next_step(cell_that(Outcome::errored, row.reason), "r1") == row.advice);
  }
}

TEST_CASE("noise asks for twice the repeats, and at least seven", "[verdict]") {
  CellVerdict cell = cell_that(Outcome::inconclusive, "noise");
  const std::string again = "measure more, on a quieter machine: " + cell.reproduce + " --repeat ";
  CHECK(next_step(cell, "r1") == again + "7");
  for (const int repeat : {4, 1}) {
    AttemptSummary attempt;
    attempt.repeat = repeat;
    cell.attempts.push_back(attempt);
  }
  CHECK(next_step(cell, "r1") == again + "10");
  cell.reason = "too_few_samples";
  CHECK(next_step(cell, "r1") == again + "10");
}

TEST_CASE("the armed check that decided is explained, a failed one before an open one", "[verdict]") {
  CellVerdict cell = cell_that(Outcome::failed, "a.b");
  cell.log_folder = "cells/x/r0";
  cell.checks = {a_check("fine", CheckStatus::passed, "within_bound"),
                 a_check("recorded", CheckStatus::failed, "over_bound", Gate::record_only),
                 a_check("open", CheckStatus::inconclusive, "missing_metric"),
                 a_check("failed", CheckStatus::failed, "over_bound")};
  CHECK(next_step(cell, "r1") == "reprobench explain 0a0a0a0a0a0a failed --run r1");
  cell.checks.pop_back();
  cell.reason = "missing_metric";
  CHECK(next_step(cell, "r1") == "reprobench explain 0a0a0a0a0a0a open --run r1");
  cell.reason = "crash";
  CHECK(next_step(cell, "r1") == "read cells/x/r0/stderr.log of the run");
  cell.log_folder.clear();
  CHECK(next_step(cell, "r1") == "reprobench explain 0a0a0a0a0a0a --run r1");
}

}  // namespace
}  // namespace reprobench
