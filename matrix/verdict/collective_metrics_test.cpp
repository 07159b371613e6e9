#include "matrix/verdict/collective_metrics.hpp"

#include <numeric>

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

ProbeMeasurement collective(const std::string& operation, const std::string& size, std::int64_t bytes, double time_ns) {
  ProbeMeasurement measurement;
  measurement.operation = operation;
  measurement.labels = {{"size", size}};
  measurement.unit = "ns";
  measurement.status = MeasurementStatus::measured;
  measurement.bytes = bytes;
  measurement.digest = operation == "all_gather" ? "" : std::string(32, 'a');
  measurement.samples = {time_ns, time_ns, time_ns + 10};
  return measurement;
}

// An attempt of `ranks` ranks that measured alike.
AttemptRecord attempt_of(int ranks) {
  AttemptRecord attempt = sample::attempt(0, 1000);
  attempt.lead().result->measurements = {
      collective("all_reduce", "4KiB", 4096, 1000), collective("all_reduce", "1MiB", 1 << 20, 100'000),
      collective("reduce_scatter", "1MiB", 1 << 20, 50'000), collective("all_gather", "1MiB", 1 << 20, 25'000)};
  while (static_cast<int>(attempt.ranks.size()) < ranks) attempt.ranks.push_back(attempt.lead());
  return attempt;
}

ProbeMeasurement& of_rank(AttemptRecord& attempt, std::size_t rank, std::size_t index) {
  return attempt.ranks[rank].result->measurements[index];
}

void spoil(ProbeMeasurement& measurement, MeasurementStatus status, const std::string& finding) {
  measurement.status = status;
  measurement.finding = finding;
  measurement.samples.clear();
}

const MeasurementSelection kSmall{"all_reduce", {{"size", "4KiB"}}, ""};
const MeasurementSelection kAllReduce{"all_reduce", {}, ""};

TEST_CASE("a call is as slow as on its slowest rank", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(2);
  CHECK(*latency_p50_ns(attempt, kSmall).value == 1000);
  of_rank(attempt, 1, 0).samples = {900, 3000, 3000};
  CHECK(*latency_p50_ns(attempt, kSmall).value == 3000);
}

TEST_CASE("of several sizes the worst one is the value, named and never averaged", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(2);
  of_rank(attempt, 0, 1).finding = "rank 1 comes last";
  const Measurement latency = latency_p50_ns(attempt, kAllReduce);
  CHECK(*latency.value == 100'000);
  CHECK(latency.finding == "the worst of 2 is all_reduce of 1MiB, rank 1 comes last");
  // 4096 bytes in 1000 ns against 1 MiB in 100,000 ns.
  const Measurement bandwidth = algorithm_bandwidth_gb_per_s(attempt, kAllReduce);
  CHECK(*bandwidth.value == Approx(4.096));
  CHECK(bandwidth.finding == "the worst of 2 is all_reduce of 4KiB");
}

TEST_CASE("the 99th percentile is the nearest rank's", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(1);
  std::vector<double>& samples = of_rank(attempt, 0, 0).samples;
  samples.resize(100);
  std::iota(samples.rbegin(), samples.rend(), 1.0);
  CHECK(*latency_p99_ns(attempt, kSmall).value == 99);
  samples.resize(50);  // 100 ... 51
  CHECK(*latency_p99_ns(attempt, kSmall).value == 100);
}

TEST_CASE("bandwidths are nccl-tests' for the number of ranks", "[verdict][ranks]") {
  const MeasurementSelection scattered{"reduce_scatter", {}, ""};
  CHECK(*algorithm_bandwidth_gb_per_s(attempt_of(4), kSmall).value == Approx(4.096));
  CHECK(*bus_bandwidth_gb_per_s(attempt_of(2), kSmall).value == Approx(4.096));
  CHECK(*bus_bandwidth_gb_per_s(attempt_of(4), kSmall).value == Approx(4.096 * 1.5));
  CHECK(*bus_bandwidth_gb_per_s(attempt_of(2), scattered).value == Approx(20.97152 / 2));
  CHECK(*bus_bandwidth_gb_per_s(attempt_of(4), scattered).value == Approx(20.97152 * 0.75));
}

TEST_CASE("what moves no bytes has no bandwidth", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(2);
  for (std::size_t rank = 0; rank < 2; ++rank) of_rank(attempt, rank, 0).bytes = 0;
  CHECK(bus_bandwidth_gb_per_s(attempt, kSmall).missing == "the probe measured no all_reduce size=4KiB");
}

TEST_CASE("a wrong result on any rank counts, is named with its rank, and has no time", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(3);
  CHECK(*wrong_collectives(attempt, {}).value == 0);
  CHECK(wrong_collectives(attempt, {}).finding.empty());
  spoil(of_rank(attempt, 2, 1), MeasurementStatus::wrong, "in call 7 element 5 is 1 instead of 2");
  const Measurement wrong = wrong_collectives(attempt, {});
  CHECK(*wrong.value == 1);
  CHECK(wrong.finding == "first all_reduce of 1MiB on rank 2: in call 7 element 5 is 1 instead of 2");
  CHECK(*wrong_collectives(attempt, kSmall).value == 0);
  CHECK(latency_p50_ns(attempt, kAllReduce).missing ==
        "all_reduce of 1MiB was not timed: rank 2: in call 7 element 5 is 1 instead of 2");
}

TEST_CASE("a collective that the library lacks, or that a rank did not measure, is missing with the reason",
          "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    spoil(of_rank(attempt, rank, 2), MeasurementStatus::unsupported, "Gloo has none");
  }
  CHECK(bus_bandwidth_gb_per_s(attempt, {"reduce_scatter", {}, ""}).missing ==
        "reduce_scatter of 1MiB was not timed: rank 0: Gloo has none");
  CHECK(latency_p50_ns(attempt, {"broadcast", {}, ""}).missing == "the probe measured no broadcast");
  attempt.ranks[1].result->measurements.erase(attempt.ranks[1].result->measurements.begin());
  CHECK(latency_p50_ns(attempt, kSmall).missing == "rank 1 did not measure all_reduce of 4KiB");
  CHECK(wrong_collectives(attempt, kSmall).missing == "rank 1 did not measure all_reduce of 4KiB");
}

TEST_CASE("calls that gave other bits than the first are counted over all ranks", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(2);
  CHECK(*differing_calls(attempt, {}).value == 0);
  of_rank(attempt, 1, 0).results_differing = 3;
  of_rank(attempt, 0, 2).results_differing = 1;
  const Measurement differing = differing_calls(attempt, {});
  CHECK(*differing.value == 4);
  CHECK(differing.finding == "first all_reduce of 4KiB on rank 1: 3 calls with other bits than the first");
}

TEST_CASE("ranks must hold the same sum where each holds all of it", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(3);
  CHECK(*differing_ranks(attempt, {}).value == 0);
  of_rank(attempt, 1, 2).digest = std::string(32, 'b');  // a part each: nothing to agree on
  CHECK(*differing_ranks(attempt, {}).value == 0);
  of_rank(attempt, 2, 1).digest = std::string(32, 'b');
  const Measurement differing = differing_ranks(attempt, {});
  CHECK(*differing.value == 1);
  CHECK(differing.finding == "first all_reduce of 1MiB: rank 2 holds other bits than rank 0");
  CHECK(differing_ranks(attempt, {"all_gather", {}, ""}).missing == "the probe measured no all_gather");
}

CellEvidence evidence_of(std::vector<AttemptRecord> repeats) {
  for (std::size_t i = 0; i < repeats.size(); ++i) repeats[i].repeat = static_cast<int>(i);
  return {"comm-b", "cpu", "", std::move(repeats)};
}

TEST_CASE("another order of summation shows between processes and stacks", "[verdict][ranks]") {
  AttemptRecord other = attempt_of(2);
  of_rank(other, 1, 1).digest = std::string(32, 'b');
  CHECK(*changed_orders_between_repeats(evidence_of({attempt_of(2), attempt_of(2)}), nullptr).value == 0);
  const Measurement changed =
      changed_orders_between_repeats(evidence_of({attempt_of(2), attempt_of(2), other}), nullptr);
  CHECK(*changed.value == 1);
  CHECK(changed.repeat == 2);
  CHECK(changed.finding == "first all_reduce of 1MiB on rank 1, against repeat 0");
  CHECK(changed_orders_between_repeats(evidence_of({other}), nullptr).missing ==
        "needs at least 2 repeats, the cell has 1");

  const CellEvidence reference = evidence_of({attempt_of(2)});
  CHECK(*changed_orders_to_reference(evidence_of({attempt_of(2)}), &reference).value == 0);
  CHECK(changed_orders_to_reference(evidence_of({other}), &reference).finding ==
        "first all_reduce of 1MiB on rank 1, against comm-b");
  CHECK(changed_orders_to_reference(evidence_of({attempt_of(3)}), &reference).missing == "3 ranks against 2");
}

TEST_CASE("sides without a sum in common have nothing to compare", "[verdict][ranks]") {
  AttemptRecord without = attempt_of(2);
  for (RankRecord& rank : without.ranks) {
    for (ProbeMeasurement& measurement : rank.result->measurements) measurement.digest.clear();
  }
  const CellEvidence reference = evidence_of({attempt_of(2)});
  CHECK(changed_orders_to_reference(evidence_of({without}), &reference).missing ==
        "no sum was made on both sides whose order could be compared");
}

TEST_CASE("a check of communication says what was found", "[verdict][ranks]") {
  CellThreshold threshold = sample::threshold("comm.latency_p50", Bound::Kind::max, 50'000, false);
  threshold.of = kAllReduce;
  AttemptRecord quicker = attempt_of(2);
  for (std::size_t rank = 0; rank < 2; ++rank) of_rank(quicker, rank, 1).samples = {40'000};
  const CheckResult check = evaluate(threshold, evidence_of({quicker, attempt_of(2), quicker}), {});
  CHECK(check.status == CheckStatus::failed);
  CHECK(check.dimension == Dimension::communication);
  CHECK(check.sentence == "all_reduce: 100.0 us > 50.0 us; the worst of 2 is all_reduce of 1MiB");
  CHECK(check.repeat == 1);
}

}  // namespace
}  // namespace reprobench
