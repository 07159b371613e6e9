// What metrics make of attempts with several ranks.
#include <limits>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/evidence/timed_steps.hpp"
#include "matrix/verdict/metrics/bitwise.hpp"
#include "matrix/verdict/metrics/metrics.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

// Two ranks that did the same; a test changes one.
AttemptRecord of_two_ranks() {
  AttemptRecord attempt = sample::attempt(0, 1'000'000);
  attempt.ranks.push_back(attempt.lead());
  return attempt;
}

double value_of(const char* metric, const AttemptRecord& attempt) {
  return find_metric(metric)->of_attempt({}, attempt).value.value();
}

CellEvidence evidence_of(const AttemptRecord& attempt) { return {"a", "cpu", "", {attempt}}; }

TEST_CASE("a step takes as long as on its slowest rank, and samples add up", "[verdict][ranks]") {
  AttemptRecord attempt = of_two_ranks();
  const double alone_per_s = value_of("throughput.samples", sample::attempt(0, 1'000'000));
  CHECK(value_of("throughput.samples", attempt) == Approx(2 * alone_per_s));
  for (std::size_t i = 0; i < attempt.ranks[1].trace->steps.size(); i += 2) {
    attempt.ranks[1].trace->steps[i].step_time_ns = 3'000'000;
  }
  for (std::size_t i = 1; i < attempt.ranks[0].trace->steps.size(); i += 2) {
    attempt.ranks[0].trace->steps[i].step_time_ns = 3'000'000;
  }
  // Each rank is slow in every other step, so every step is.
  for (const double time_ns : timed_steps_ns(attempt)) CHECK(time_ns == 3'000'000);
}

TEST_CASE("memory of the host adds up over ranks, that of devices is the fullest one's", "[verdict][ranks]") {
  AttemptRecord attempt = of_two_ranks();
  attempt.ranks[1].result->peak_rss_bytes = 50 << 20;
  attempt.ranks[0].result->peak_allocated_bytes = 7;
  attempt.ranks[1].result->peak_allocated_bytes = 9;
  attempt.ranks[0].result->peak_anonymous_bytes = 3;
  attempt.ranks[1].result->peak_anonymous_bytes = 4;
  CHECK(value_of("memory.peak_rss", attempt) == 150 << 20);
  CHECK(value_of("memory.peak_anonymous", attempt) == 7);
  CHECK(value_of("memory.device_peak", attempt) == 9);
  attempt.ranks[1].result->peak_rss_bytes = 0;
  attempt.ranks[0].result->peak_allocated_bytes = -1;
  attempt.ranks[1].result->peak_anonymous_bytes = -1;
  CHECK_FALSE(find_metric("memory.peak_rss")->of_attempt({}, attempt).value);
  CHECK_FALSE(find_metric("memory.peak_anonymous")->of_attempt({}, attempt).value);
  CHECK_FALSE(find_metric("memory.device_peak")->of_attempt({}, attempt).value);
}

TEST_CASE("the worst rank's loss is the attempt's", "[verdict][ranks]") {
  AttemptRecord attempt = of_two_ranks();
  attempt.ranks[1].trace->steps.back().loss = exact_float(5.0f);
  CHECK(value_of("numerics.final_loss", attempt) == 5);
  attempt.ranks[0].trace->steps.back().loss = exact_float(std::numeric_limits<float>::quiet_NaN());
  CHECK(std::isnan(value_of("numerics.final_loss", attempt)));
}

TEST_CASE("digests are compared rank by rank, and the rank that differs is named", "[verdict][ranks]") {
  const Metric& mismatches = *find_metric("numerics.reference_mismatches");
  CellEvidence cell = evidence_of(of_two_ranks());
  const CellEvidence reference = evidence_of(of_two_ranks());
  CHECK(mismatches.of_cell(cell, &reference).value == 0);
  cell.repeats[0].ranks[1].trace->steps[4].root = "other";
  const Measurement differing = mismatches.of_cell(cell, &reference);
  CHECK(differing.value == 1);
  REQUIRE(differing.divergence);
  CHECK(differing.divergence->against == "a, rank 1");
}

TEST_CASE("another number of ranks is no reason to say that bits differ", "[verdict][ranks]") {
  const CellEvidence cell = evidence_of(of_two_ranks());
  const CellEvidence reference = evidence_of(sample::attempt(0, 1'000'000));
  CHECK(not_bitwise_because(cell, reference) == "2 ranks against 1");
  for (const char* name : {"numerics.reference_mismatches", "numerics.loss_rel", "numerics.first_gradient_rel"}) {
    const Measurement measured = find_metric(name)->of_cell(cell, &reference);
    CHECK_FALSE(measured.value);
    CHECK(measured.missing == "2 ranks against 1");
  }
}

}  // namespace
}  // namespace reprobench
