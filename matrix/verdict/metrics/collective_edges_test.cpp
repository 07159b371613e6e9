// Several wrong collectives, ties, and what a sentence of several says.
#include "ci/catch.hpp"
#include "matrix/verdict/metrics/collective_fixture.hpp"
#include "matrix/verdict/metrics/collective_metrics.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

ProbeMeasurement of_size(const std::string& operation, const std::string& size, std::int64_t bytes, double time_ns) {
  ProbeMeasurement measurement;
  measurement.operation = operation;
  if (!size.empty()) measurement.labels = {{"size", size}};
  measurement.unit = "ns";
  measurement.status = MeasurementStatus::measured;
  measurement.bytes = bytes;
  measurement.samples = {time_ns};
  if (operation == "barrier") return measurement;
  measurement.digest = std::string(32, 'a');
  measurement.results_compared = 9;
  return measurement;
}

// Three sums of which two take as long, and a barrier, which has no size.
AttemptRecord of_sums(std::size_t ranks = 2) {
  AttemptRecord attempt = sample::attempt(0, 1000);
  attempt.lead().result->measurements = {of_size("all_reduce", "4KiB", 4096, 100),
                                         of_size("all_reduce", "8KiB", 8192, 200),
                                         of_size("all_reduce", "16KiB", 16384, 200), of_size("barrier", "", 0, 50)};
  attempt.ranks.resize(ranks, attempt.ranks.front());
  return attempt;
}

TEST_CASE("every wrong collective of every rank counts, and the first is named", "[verdict][ranks]") {
  AttemptRecord attempt = of_sums();
  spoil(of_rank(attempt, 1, 0), MeasurementStatus::wrong, "one");
  spoil(of_rank(attempt, 0, 1), MeasurementStatus::wrong, "two");
  spoil(of_rank(attempt, 1, 1), MeasurementStatus::wrong, "three");
  CHECK(wrong_collectives(attempt, {}).value == 3);
  CHECK(wrong_collectives(attempt, {}).finding == "first all_reduce of 4KiB on rank 1: one");
}

TEST_CASE("every sum of which ranks hold other bits counts once, and the first is named", "[verdict][ranks]") {
  AttemptRecord attempt = of_sums(3);
  of_rank(attempt, 1, 1).digest = "b";
  of_rank(attempt, 2, 1).digest = "c";
  of_rank(attempt, 0, 2).digest = "d";
  CHECK(differing_ranks(attempt, {}).value == 2);
  CHECK(differing_ranks(attempt, {}).finding == "first all_reduce of 8KiB: rank 1 holds other bits than rank 0");
}

TEST_CASE("a barrier is no sum, and moves no bytes of which a record could be missing", "[verdict][ranks]") {
  AttemptRecord attempt = of_sums();
  CHECK(differing_calls(attempt, {}).value == 0);
  CHECK(differing_ranks(attempt, {}).value == 0);
  const MeasurementSelection barrier{"barrier", {}, ""};
  CHECK(latency_p50_ns(attempt, barrier).value == 50);
  CHECK(latency_p50_ns(attempt, barrier).finding == "barrier");
  CHECK(algorithm_bandwidth_gb_per_s(attempt, barrier).missing == "barrier moves no bytes");
  CHECK(differing_calls(attempt, barrier).missing == "the probe made no sum");
  of_rank(attempt, 1, 1).bytes = 0;
  CHECK(latency_p50_ns(attempt, {}).missing == "all_reduce of 8KiB has no bytes on record on rank 1");
  spoil(of_rank(attempt, 0, 1), MeasurementStatus::unsupported, "there is none");
  of_rank(attempt, 0, 1).bytes = 0;
  CHECK(latency_p50_ns(attempt, {}).missing == "all_reduce of 8KiB was not timed: rank 0: there is none");
  spoil(of_rank(attempt, 0, 0), MeasurementStatus::wrong, "in call 7");
  of_rank(attempt, 0, 0).bytes = 0;
  CHECK(latency_p50_ns(attempt, {}).missing == "all_reduce of 4KiB has no bytes on record on rank 0");
}

TEST_CASE("of sizes that are as bad the first is named", "[verdict][ranks]") {
  const AttemptRecord attempt = of_sums();
  const MeasurementSelection sums{"all_reduce", {}, ""};
  CHECK(latency_p50_ns(attempt, sums).finding == "the worst of 3 is all_reduce of 8KiB");
  CHECK(latency_p50_ns(attempt, {}).finding == "the worst of 4 is all_reduce of 8KiB");
  CHECK(algorithm_bandwidth_gb_per_s(attempt, {}).finding == "the worst of 3 is all_reduce of 4KiB");  // 40.96 twice
  CHECK(algorithm_bandwidth_gb_per_s(attempt, {}).value == Approx(40.96));
}

TEST_CASE("a count of what was done says nothing where memory ran out, but what is wrong stays wrong",
          "[verdict][ranks]") {
  AttemptRecord attempt = of_sums();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    spoil(of_rank(attempt, rank, 1), MeasurementStatus::unsupported, "there is none");
    spoil(of_rank(attempt, rank, 2), MeasurementStatus::left_out, "not done: too little");
  }
  for (const auto& count : {&wrong_collectives, &differing_calls, &differing_ranks}) {
    CHECK(count(attempt, {}).missing == "not all of it was done: all_reduce of 16KiB: rank 0: not done: too little");
  }
  // Whichever rank says so.
  spoil(of_rank(attempt, 0, 2), MeasurementStatus::unsupported, "there is none");
  CHECK(differing_calls(attempt, {}).missing ==
        "not all of it was done: all_reduce of 16KiB: rank 1: not done: too little");
  of_rank(attempt, 1, 0).results_differing = 2;
  CHECK(differing_calls(attempt, {}).value == 2);
  CHECK(latency_p50_ns(attempt, {"all_reduce", {}, ""}).missing ==
        "all_reduce of 8KiB was not timed: rank 0: there is none");
}

TEST_CASE("what nobody can do is counted, and the first of it named", "[verdict][ranks]") {
  AttemptRecord attempt = of_sums();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    spoil(of_rank(attempt, rank, 1), MeasurementStatus::unsupported, "first reason");
    spoil(of_rank(attempt, rank, 2), MeasurementStatus::unsupported, "second reason");
  }
  CHECK(differing_ranks(attempt, {}).finding ==
        "2 more could not be done, first all_reduce of 8KiB: rank 0: first reason");
  for (std::size_t rank = 0; rank < 2; ++rank) {
    spoil(of_rank(attempt, rank, 0), MeasurementStatus::unsupported, "no reason");
  }
  CHECK(differing_ranks(attempt, {}).missing ==
        "no sum that all ranks hold was done: all_reduce of 4KiB: rank 0: no reason");
  CHECK(differing_calls(attempt, {}).missing == "no sum was done: all_reduce of 4KiB: rank 0: no reason");
  CHECK(wrong_collectives(attempt, {"all_reduce", {}, ""}).missing ==
        "no collective was done: all_reduce of 4KiB: rank 0: no reason");
  CHECK(wrong_collectives(attempt, {}).value == 0);  // the barrier was done
  for (RankRecord& rank : attempt.ranks) rank.result->measurements.clear();
  CHECK(wrong_collectives(attempt, {}).missing == "the probe measured no collective");
}

TEST_CASE("of repeats with as many other orders the first is told, with the first sum", "[verdict][ranks]") {
  const AttemptRecord steady = of_sums();
  AttemptRecord other = of_sums();
  of_rank(other, 0, 2).digest = "b";
  of_rank(other, 1, 0).digest = "b";
  const CellEvidence reference = evidence_of({steady});
  const Measurement between = changed_orders_between_repeats(evidence_of({steady, steady, other, other}), nullptr);
  CHECK(between.value == 2);
  CHECK(between.repeat == 2);
  CHECK(between.finding == "first all_reduce of 16KiB on rank 0, against repeat 0");
  const Measurement to_reference = changed_orders_to_reference(evidence_of({steady, other, other}), &reference);
  CHECK(to_reference.value == 2);
  CHECK(to_reference.repeat == 1);
  CHECK(to_reference.finding == "first all_reduce of 16KiB on rank 0, against cell");
  CHECK(changed_orders_to_reference(evidence_of({steady, steady}), &reference).repeat == 0);
  CHECK_FALSE(changed_orders_between_repeats(evidence_of({steady, steady}), nullptr).repeat);
}

TEST_CASE("a changed order and a sum of one side alone stand in one sentence", "[verdict][ranks]") {
  AttemptRecord other = of_sums();
  of_rank(other, 0, 2).digest = "b";
  for (std::size_t rank = 0; rank < 2; ++rank) {
    spoil(of_rank(other, rank, 1), MeasurementStatus::unsupported, "there is none");
    of_rank(other, rank, 1).digest.clear();
  }
  const CellEvidence reference = evidence_of({of_sums()});
  CHECK(changed_orders_to_reference(evidence_of({other}), &reference).finding ==
        "first all_reduce of 16KiB on rank 0, against cell; 2 more made on one side alone, first all_reduce of 8KiB on "
        "rank 0: there is none");
  const Measurement between = changed_orders_between_repeats(evidence_of({of_sums(), other}), nullptr);
  CHECK(between.value == 1);
  CHECK(between.finding.starts_with("first all_reduce of 16KiB on rank 0, against repeat 0; 2 more made on one side"));
}

TEST_CASE("a sum that one repeat alone made leaves open whether repeats agree", "[verdict][ranks]") {
  AttemptRecord other = of_sums();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    spoil(of_rank(other, rank, 1), MeasurementStatus::left_out, "not done");
    of_rank(other, rank, 1).digest.clear();
  }
  const Measurement between = changed_orders_between_repeats(evidence_of({of_sums(), other}), nullptr);
  CHECK_FALSE(between.value);
  CHECK(between.missing == "a sum was made in one repeat alone: all_reduce of 8KiB on rank 0: not done");
}

TEST_CASE("a repeat that left a sum out is not made good by the others", "[verdict][ranks]") {
  AttemptRecord without = of_sums();
  of_rank(without, 1, 0).digest.clear();
  const CellEvidence reference = evidence_of({of_sums()});
  const std::string said = "all_reduce of 4KiB on rank 1 left a sum on one side alone";
  for (const auto& cell : {evidence_of({without, of_sums()}), evidence_of({of_sums(), without})}) {
    CHECK(changed_orders_to_reference(cell, &reference).missing == said);
    CHECK_FALSE(changed_orders_to_reference(cell, &reference).value);
  }
  CHECK(changed_orders_between_repeats(evidence_of({of_sums(), without, of_sums()}), nullptr).missing == said);
}

}  // namespace
}  // namespace reprobench
