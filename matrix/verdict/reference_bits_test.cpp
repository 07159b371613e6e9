#include "matrix/verdict/reference_bits.hpp"

#include <algorithm>

#include "ci/catch.hpp"
#include "matrix/verdict/summary.hpp"

namespace reprobench {
namespace {

AttemptSummary attempt(int repeat, const std::string& chain, AttemptEnd end = AttemptEnd::completed) {
  AttemptSummary summary;
  summary.repeat = repeat;
  summary.end = end;
  summary.chain = chain;
  return summary;
}

// A cell that ran, one attempt a repeat.
CellVerdict cell_with_chains(const std::vector<std::string>& chains) {
  CellVerdict cell;
  cell.outcome = Outcome::passed;
  for (std::size_t i = 0; i < chains.size(); ++i) cell.attempts.push_back(attempt(static_cast<int>(i), chains[i]));
  return cell;
}

// Whichever of the two is the reference.
Match either_way(const CellVerdict& one, const CellVerdict& other) {
  const Match match = reference_bits(one, other);
  CHECK(match == reference_bits(other, one));
  return match;
}

TEST_CASE("all repeats of both sides have to agree for equal bits", "[verdict]") {
  CHECK(either_way(cell_with_chains({"x", "x"}), cell_with_chains({"x", "x"})) == Match::equal);
  CHECK(either_way(cell_with_chains({"x", "x"}), cell_with_chains({"x"})) == Match::equal);
  CHECK(either_way(cell_with_chains({"x", "x"}), cell_with_chains({"x", "y"})) == Match::differs);
  CHECK(either_way(cell_with_chains({"x", "y"}), cell_with_chains({"x", "y"})) == Match::differs);
  CHECK(either_way(cell_with_chains({"x", "x"}), cell_with_chains({"y"})) == Match::differs);
}

TEST_CASE("a side without evidence is not compared", "[verdict]") {
  const CellVerdict whole = cell_with_chains({"x", "x"});
  CellVerdict crashed = whole;
  crashed.attempts[1].end = AttemptEnd::crash;
  CellVerdict errored = whole;
  errored.outcome = Outcome::errored;
  CellVerdict unfinished = whole;
  unfinished.outcome = Outcome::unfinished;
  CellVerdict of_another_workload = whole;
  of_another_workload.workload_digest = "w";
  for (const CellVerdict& other : {crashed, errored, unfinished, of_another_workload, cell_with_chains({}),
                                   cell_with_chains({"x", ""}), cell_with_chains({"", "x"})}) {
    CHECK(either_way(whole, other) == Match::not_comparable);
  }
}

TEST_CASE("the last attempt of a repeat counts, in whatever order attempts stand", "[verdict]") {
  CellVerdict retried = cell_with_chains({"y", "x"});
  retried.attempts[0].end = AttemptEnd::crash;
  retried.attempts.push_back(attempt(0, "x"));
  retried.attempts.back().attempt = 1;
  CHECK(either_way(cell_with_chains({"x"}), retried) == Match::equal);
  std::reverse(retried.attempts.begin(), retried.attempts.end());
  CHECK(either_way(cell_with_chains({"x"}), retried) == Match::equal);
}

TEST_CASE("numbers that failed an armed check equal nothing", "[verdict]") {
  CheckResult wrong;
  wrong.dimension = Dimension::numerics;
  wrong.gate = Gate::armed;
  wrong.status = CheckStatus::failed;
  const auto with = [](const CheckResult& check) {
    CellVerdict cell = cell_with_chains({"x"});
    cell.checks = {CheckResult{}, check};
    return either_way(cell, cell_with_chains({"x"}));
  };
  CHECK(with(wrong) == Match::differs);
  CheckResult other = wrong;
  other.gate = Gate::record_only;
  CHECK(with(other) == Match::equal);
  other = wrong;
  other.status = CheckStatus::passed;
  CHECK(with(other) == Match::equal);
  other = wrong;
  other.dimension = Dimension::memory;
  CHECK(with(other) == Match::equal);
}

RepeatedMeasurement repeated(const std::string& operation, const std::string& size, MeasurementStatus status) {
  RepeatedMeasurement result;
  result.measurement.operation = operation;
  result.measurement.labels["size"] = size;
  result.measurement.status = status;
  return result;
}

TEST_CASE("bits of a probe are not compared where one side cannot do what the other did", "[verdict]") {
  using enum MeasurementStatus;
  CellVerdict one = cell_with_chains({"x"});
  CellVerdict other = cell_with_chains({"y"});
  one.measurements = {repeated("all_reduce", "1MiB", measured), repeated("reduce_scatter", "1MiB", measured)};
  other.measurements = one.measurements;
  CHECK(either_way(one, other) == Match::differs);
  other.measurements[1].measurement.status = wrong;
  CHECK(either_way(one, other) == Match::differs);
  other.measurements[1].measurement.status = unsupported;
  CHECK(either_way(one, other) == Match::not_comparable);
  one.measurements[1].measurement.status = unsupported;
  CHECK(either_way(one, other) == Match::differs);
  one.measurements[1].measurement.labels["size"] = "2MiB";
  CHECK(either_way(one, other) == Match::not_comparable);
  one.measurements[1].measurement.labels["size"] = "1MiB";
  one.measurements[1].measurement.operation = "all_gather";
  CHECK(either_way(one, other) == Match::not_comparable);
}

TEST_CASE("it stands in every cell that ran and whose reference is in the run, and in no other", "[verdict]") {
  RunVerdict run;
  run.cells = {cell_with_chains({"x"}), cell_with_chains({"x"}), cell_with_chains({"y"}), cell_with_chains({"x"}),
               cell_with_chains({"x"})};
  for (std::size_t i = 0; i < run.cells.size(); ++i) run.cells[i].cell_id = std::string(1, static_cast<char>('a' + i));
  run.cells[1].reference_cell_id = run.cells[2].reference_cell_id = run.cells[3].reference_cell_id = "a";
  run.cells[3].outcome = Outcome::skipped;
  run.cells[4].reference_cell_id = "gone";
  summarise(run);
  CHECK_FALSE(run.cells[0].reference_bits);
  CHECK(run.cells[1].reference_bits == Match::equal);
  CHECK(run.cells[2].reference_bits == Match::differs);
  CHECK_FALSE(run.cells[3].reference_bits);
  CHECK_FALSE(run.cells[4].reference_bits);
}

}  // namespace
}  // namespace reprobench
