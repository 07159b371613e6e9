#include "matrix/verdict/metrics/collective_metrics.hpp"

#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/verdict/check.hpp"
#include "matrix/verdict/metrics/collective_fixture.hpp"
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
  if (operation != "all_gather") {
    measurement.digest = std::string(32, 'a');
    measurement.results_compared = 9;
  }
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

TEST_CASE("startup time and bandwidth are those of all sizes of an operation", "[verdict][ranks]") {
  const auto timed = [](const char* operation, const char* size, std::int64_t bytes, double startup, double per_byte) {
    return collective(operation, size, bytes, startup + per_byte * static_cast<double>(bytes));
  };
  AttemptRecord attempt = attempt_of(2);
  std::vector<ProbeMeasurement> all{collective("barrier", "0B", 0, 9)};
  for (const auto& [size, bytes] : {std::pair{"8B", 8}, {"4KiB", 4096}, {"1MiB", 1 << 20}}) {
    all.push_back(timed("all_reduce", size, bytes, 20'000, 0.5));
    all.push_back(timed("broadcast", size, bytes, 30'000, 0.25));
  }
  for (RankRecord& rank : attempt.ranks) rank.result->measurements = all;
  const Measurement startup = startup_ns(attempt, {});
  CHECK(*startup.value == Approx(30'000));
  CHECK(startup.finding ==
        "broadcast over 3 sizes: 30 us + bytes at 4 GB/s, at most a factor of 1.00 off (broadcast of 8B)");
  CHECK(*fitted_bandwidth_gb_per_s(attempt, {}).value == Approx(2));
  CHECK(*startup_ns(attempt, kAllReduce).value == Approx(20'000));
  for (double& time_ns : of_rank(attempt, 1, 1).samples) time_ns *= 1.5;  // on one rank, which is the slowest then
  CHECK(*startup_ns(attempt, kAllReduce).value > 20'000);
  for (double& time_ns : of_rank(attempt, 1, 3).samples) time_ns /= 1000;  // not on the slowest rank
  CHECK(*startup_ns(attempt, kAllReduce).value > 20'000);
  for (ProbeMeasurement* one : {&of_rank(attempt, 0, 3), &of_rank(attempt, 1, 3)}) one->samples = {5000};
  CHECK(startup_ns(attempt, kAllReduce).missing.starts_with("the fit of all_reduce is a factor of "));
  of_rank(attempt, 0, 3).samples = of_rank(attempt, 1, 3).samples = std::vector<double>(10, 9e6);
  of_rank(attempt, 0, 3).samples[4] = of_rank(attempt, 1, 3).samples[7] = 20'000;  // one call in ten
  CHECK(startup_ns(attempt, kAllReduce).value);
  spoil(of_rank(attempt, 1, 5), MeasurementStatus::unsupported, "none");
  CHECK(startup_ns(attempt, kAllReduce).missing == "all_reduce of 1MiB was not timed: rank 1: none");
  CHECK(startup_ns(attempt, {"barrier", {}, ""}).missing == "the probe moved no bytes");
  attempt.lead().result->measurements = {collective("all_reduce", "8B", 8, 10)};
  attempt.ranks.resize(1);
  CHECK(startup_ns(attempt, kAllReduce).missing == "no startup time and bandwidth explain all_reduce");
}

// Two repeats on two ranks, in which every call takes its 1000 ns.
CellEvidence quiet_cell() { return evidence_of({attempt_of(2), attempt_of(2)}); }

std::vector<double>& calls_of(CellEvidence& cell, std::size_t repeat, std::size_t rank, std::size_t index = 0) {
  return of_rank(cell.repeats[repeat], rank, index).samples;
}

TEST_CASE("the collective that is slowest beside the reference speaks, of all operations and sizes",
          "[verdict][ranks]") {
  CellEvidence cell = quiet_cell();
  CellEvidence reference = quiet_cell();
  CHECK(latency_ratio(cell, &reference).value == 1);
  for (const std::size_t repeat : {0, 1}) calls_of(cell, repeat, 1).assign(50, 118'000);  // one rank is slow
  CHECK(latency_ratio(cell, &reference).value == 118);
  CHECK(latency_ratio(cell, &reference).at_best == 118);
  CHECK_THAT(latency_ratio(cell, &reference).finding,
             Catch::Equals("the worst of 4 is all_reduce of 4KiB, 118.0 us against 1.0 us"));
  calls_of(cell, 1, 1).assign(50, 1000);  // and fast in the other repeat
  CHECK(latency_ratio(cell, &reference).value == 1);
}

TEST_CASE("calls that wait for a core, on either side, make no collective slow and hide none", "[verdict][ranks]") {
  CellEvidence cell = quiet_cell();
  CellEvidence reference = quiet_cell();
  CellEvidence& busy = GENERATE(true, false) ? cell : reference;
  for (const std::size_t rank : {0, 1}) {
    calls_of(busy, 0, rank).assign(50, 4e6);
    calls_of(busy, 1, rank).assign(50, 4e6);
    for (std::size_t i = 0; i < 5; ++i) calls_of(busy, 1, rank)[7 * i] = 1000;
  }
  CHECK(latency_ratio(cell, &reference).value == 1);
  calls_of(busy, 1, 0)[0] = 4e6;  // four of 50 are left
  CHECK(latency_ratio(cell, &reference).value == (&busy == &cell ? Approx(4000) : Approx(1)));
  // Four calls in a hundred were as fast as the reference's: whether the others are slow is open.
  CHECK(latency_ratio(cell, &reference).at_best == 1);
  calls_of(busy, 1, 0)[0] = 1000;
  for (const std::size_t repeat : {0, 1}) calls_of(cell, repeat, 0, 1).assign(50, 11'800'000);
  CHECK(latency_ratio(cell, &reference).value == 118);
  // One operation is slow in every call, by more than calls of the reference waited in one of its repeats.
  CHECK(latency_ratio(cell, &reference).at_best == Approx(&busy == &cell ? 118 : 118 - 39.99));
}

TEST_CASE("a slow collective fails where every call of it is slow, and is left to noise where some are not",
          "[verdict][ranks]") {
  CellEvidence cell = quiet_cell();
  CellEvidence reference = quiet_cell();
  const auto checked = [&] {
    return evaluate(sample::threshold("comm.latency_ratio", Bound::Kind::max, 2, true), cell, {&reference, {}, ""});
  };
  CHECK(checked().status == CheckStatus::passed);
  for (const std::size_t repeat : {0, 1}) calls_of(cell, repeat, 1).assign(50, 7000);
  CHECK(checked().status == CheckStatus::failed);
  calls_of(cell, 1, 1)[20] = 2001;  // beside the bound still
  CHECK(checked().status == CheckStatus::failed);
  calls_of(cell, 1, 1)[20] = 2000;
  CHECK(checked().status == CheckStatus::inconclusive);
  CHECK(checked().reason == "noise");
  CHECK_THAT(checked().sentence, Catch::EndsWith("at best it is 2, because calls may have waited for a core"));
  calls_of(cell, 0, 0, 3).assign(50, 200'000);  // of another operation every call in both repeats
  calls_of(cell, 1, 0, 3).assign(50, 200'000);
  CHECK(checked().status == CheckStatus::failed);
}

TEST_CASE("#40: a collective that is slower by what load added to a call of the reference is left to noise",
          "[verdict][ranks]") {
  CellEvidence cell = quiet_cell();
  CellEvidence reference = quiet_cell();
  const auto checked = [&] {
    return evaluate(sample::threshold("comm.latency_ratio", Bound::Kind::max, 2, true), cell, {&reference, {}, ""});
  };
  // As seen on two busy cores: a slice of the scheduler in every call, of the reference in one repeat of another
  // operation, which takes 25 us as a rule. The candidate is judged by one that takes 50 us.
  const std::size_t judged = 2;
  const std::size_t shorter = 3;
  for (const std::size_t repeat : {0, 1}) calls_of(cell, repeat, 1, judged).assign(50, 4'000'000);
  CHECK(checked().status == CheckStatus::failed);
  calls_of(reference, 0, 0, shorter).assign(50, 25'000 + 3'900'000);
  CHECK(checked().status == CheckStatus::inconclusive);
  CHECK(checked().reason == "noise");
  calls_of(reference, 0, 0, shorter).assign(50, 25'000 + 3'899'000);  // twice the reference's and 1 us more, even so
  CHECK(checked().status == CheckStatus::failed);
  // In both repeats it is the time that the operation takes.
  for (const std::size_t repeat : {0, 1}) calls_of(reference, repeat, 0, shorter).assign(50, 9'000'000);
  CHECK(checked().status == CheckStatus::failed);
}

TEST_CASE("#40: what a long collective takes more in one repeat is no excuse for a short one", "[verdict][ranks]") {
  CellEvidence cell = quiet_cell();
  CellEvidence reference = quiet_cell();
  for (const std::size_t repeat : {0, 1}) calls_of(cell, repeat, 1).assign(50, 118'000);  // 1 us as a rule
  calls_of(reference, 0, 0, 1).assign(50, 300'000);                                       // 100 us as a rule
  CHECK(latency_ratio(cell, &reference).at_best == 118);
}

TEST_CASE("a collective that one side alone has timed leaves the ratio open, unless the reference cannot do it",
          "[verdict][ranks]") {
  CellEvidence cell = quiet_cell();
  CellEvidence reference = quiet_cell();
  const auto missing = [&] { return latency_ratio(cell, &reference).missing; };
  const auto spoil_all = [](CellEvidence& side, MeasurementStatus status) {
    for (AttemptRecord& repeat : side.repeats) {
      for (const std::size_t rank : {0, 1}) spoil(of_rank(repeat, rank, 0), status, "none");
    }
  };
  SECTION("wrong in one repeat, on either side") {
    spoil(of_rank(cell.repeats[1], 1, 0), MeasurementStatus::wrong, "element 5");
    CHECK(missing() == "all_reduce of 4KiB was not timed: rank 1: element 5");
    std::swap(cell, reference);
    CHECK(missing() == "cell: all_reduce of 4KiB was not timed: rank 1: element 5");
  }
  SECTION("dropped, on either side") {
    for (AttemptRecord& repeat : cell.repeats) {
      for (RankRecord& rank : repeat.ranks) rank.result->measurements.erase(rank.result->measurements.begin());
    }
    CHECK(missing() == "all_reduce of 4KiB was timed for the reference alone");
    std::swap(cell, reference);
    CHECK(missing() == "cell did not measure all_reduce of 4KiB");
  }
  SECTION("dropped by a rank") {
    auto& measurements = cell.repeats[0].ranks[1].result->measurements;
    measurements.erase(measurements.begin());
    CHECK(missing() == "rank 1 did not measure all_reduce of 4KiB");
  }
  SECTION("not supported here") {
    spoil_all(cell, MeasurementStatus::unsupported);
    CHECK(missing() == "all_reduce of 4KiB was not timed: rank 0: none");
  }
  SECTION("not supported by the reference, or by one rank of it") {
    spoil_all(reference, MeasurementStatus::unsupported);
    CHECK(latency_ratio(cell, &reference).value == 1);
    CHECK_THAT(latency_ratio(cell, &reference).finding, Catch::EndsWith("; 1 more cannot be done by the reference"));
    of_rank(reference.repeats[1], 1, 0) = of_rank(cell.repeats[1], 1, 0);
    CHECK(missing() == "cell: all_reduce of 4KiB was not timed: rank 0: none");
  }
  SECTION("nothing is supported") {
    for (AttemptRecord& repeat : reference.repeats) {
      for (RankRecord& rank : repeat.ranks) {
        for (ProbeMeasurement& one : rank.result->measurements) spoil(one, MeasurementStatus::unsupported, "none");
      }
    }
    CHECK(missing() == "no collective was timed on both sides");
  }
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

TEST_CASE("a share of the link is that of the bus bandwidth, and says how the call was done", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(4);
  CHECK(bus_bandwidth_share(attempt, kSmall).missing ==
        "rank 0 names no direct link to the other ranks for all_reduce of 4KiB");
  for (RankRecord& rank : attempt.ranks) {
    for (ProbeMeasurement& one : rank.result->measurements) one.link_gb_per_s = 450;
  }
  for (const std::size_t rank : {0, 1, 2, 3}) of_rank(attempt, rank, 0).bytes = 300'000;
  of_rank(attempt, 0, 0).algorithm = "NVLS SIMPLE, 24 channels";
  // 300 GB/s by the algorithm, times 1.5 on the bus. With NVLS the bus bandwidth may exceed the link.
  CHECK(*bus_bandwidth_share(attempt, kSmall).value == Approx(1));
  CHECK(bus_bandwidth_share(attempt, kSmall).finding == "all_reduce of 4KiB by NVLS SIMPLE, 24 channels");
  of_rank(attempt, 2, 0).link_gb_per_s = 225;
  CHECK(*bus_bandwidth_share(attempt, kSmall).value == Approx(2));
  of_rank(attempt, 3, 0).link_gb_per_s.reset();  // this rank goes another way
  CHECK(bus_bandwidth_share(attempt, kSmall).missing ==
        "rank 3 names no direct link to the other ranks for all_reduce of 4KiB");
  CHECK(bus_bandwidth_share(attempt, kAllReduce).missing ==
        "rank 3 names no direct link to the other ranks for all_reduce of 4KiB");
  for (RankRecord& rank : attempt.ranks) rank.result->measurements[0].operation = "barrier";
  CHECK(bus_bandwidth_share(attempt, {"barrier", {}, ""}).missing == "barrier of 4KiB moves no bytes");
  CHECK(bus_bandwidth_share(attempt, {"broadcast", {}, ""}).missing == "the probe measured no broadcast");
  spoil(of_rank(attempt, 1, 1), MeasurementStatus::unsupported, "none");
  CHECK(bus_bandwidth_share(attempt, kAllReduce).missing == "all_reduce of 1MiB was not timed: rank 1: none");
}

TEST_CASE("what moves no bytes has no bandwidth", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(2);
  for (std::size_t rank = 0; rank < 2; ++rank) of_rank(attempt, rank, 0).bytes = 0;
  CHECK(bus_bandwidth_gb_per_s(attempt, kSmall).missing == "all_reduce of 4KiB has no bytes on record on rank 0");
  for (RankRecord& rank : attempt.ranks) rank.result->measurements[0].operation = "barrier";
  CHECK(bus_bandwidth_gb_per_s(attempt, {"barrier", {}, ""}).missing == "barrier of 4KiB moves no bytes");
  CHECK(*latency_p50_ns(attempt, {"barrier", {}, ""}).value == 1000);
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
  std::swap(attempt.ranks[0], attempt.ranks[1]);  // what the first rank alone lacks
  CHECK(wrong_collectives(attempt, kSmall).missing == "rank 0 did not measure all_reduce of 4KiB");
}

TEST_CASE("a count is of what was done: what no rank can do is said, what some can do is missing", "[verdict][ranks]") {
  const MeasurementSelection scattered{"reduce_scatter", {}, ""};
  AttemptRecord attempt = attempt_of(2);
  spoil(of_rank(attempt, 1, 2), MeasurementStatus::unsupported, "Gloo has none");
  for (const auto& count : {&wrong_collectives, &differing_calls}) {
    CHECK(count(attempt, {}).missing == "not every rank has done reduce_scatter of 1MiB: rank 1: Gloo has none");
  }
  spoil(of_rank(attempt, 0, 2), MeasurementStatus::unsupported, "Gloo has none");
  for (const auto& count : {&wrong_collectives, &differing_calls}) {
    CHECK(*count(attempt, {}).value == 0);
    CHECK(count(attempt, {}).finding ==
          "1 more could not be done, first reduce_scatter of 1MiB: rank 0: Gloo has none");
    CHECK_THAT(count(attempt, scattered).missing, Catch::Contains("Gloo has none"));
  }
  of_rank(attempt, 1, 0).results_differing = 2;
  CHECK(differing_calls(attempt, {}).finding ==
        "first all_reduce of 4KiB on rank 1: 2 calls with other bits than the first; "
        "1 more could not be done, first reduce_scatter of 1MiB: rank 0: Gloo has none");
}

TEST_CASE("sums that were not repeated did not repeat their bits", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(2);
  of_rank(attempt, 1, 1).results_compared = 0;
  CHECK(differing_calls(attempt, {}).missing == "all_reduce of 1MiB was not repeated on rank 1");
  CHECK(*differing_calls(attempt, kSmall).value == 0);
  CHECK(differing_calls(attempt, {"all_gather", {}, ""}).missing == "the probe made no sum");
}

TEST_CASE("calls that gave other bits than the first are counted over all ranks", "[verdict][ranks]") {
  AttemptRecord attempt = attempt_of(2);
  CHECK(*differing_calls(attempt, {}).value == 0);
  of_rank(attempt, 1, 0).results_differing = 3;
  of_rank(attempt, 0, 2).results_differing = 1;
  const Measurement differing = differing_calls(attempt, {});
  CHECK(*differing.value == 4);
  CHECK(differing.finding == "first all_reduce of 4KiB on rank 1: 3 calls with other bits than the first");
  of_rank(attempt, 1, 0).results_differing = 0;
  CHECK(*differing_calls(attempt, {}).value == 1);
  CHECK(differing_calls(attempt, {}).finding ==
        "first reduce_scatter of 1MiB on rank 0: 1 calls with other bits than the first");
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
  CHECK(differing_ranks(attempt, {"all_gather", {}, ""}).missing == "the probe made no sum that all ranks hold");
  for (const std::size_t rank : {0, 1}) {
    AttemptRecord without = attempt_of(2);
    of_rank(without, rank, 1).digest.clear();
    CHECK(differing_ranks(without, {}).missing == fmt::format("rank {} left no sum of all_reduce of 1MiB", rank));
  }
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
  // A repeat that cannot be compared leaves no count, whatever the others say.
  AttemptRecord without_sum = attempt_of(2);
  for (RankRecord& rank : without_sum.ranks) rank.result->measurements.clear();
  CHECK_FALSE(changed_orders_between_repeats(evidence_of({attempt_of(2), without_sum, attempt_of(2)}), nullptr).value);
  CHECK(changed_orders_between_repeats(evidence_of({other}), nullptr).missing ==
        "needs at least 2 repeats, the cell has 1");

  const CellEvidence reference = evidence_of({attempt_of(2)});
  CHECK(*changed_orders_to_reference(evidence_of({attempt_of(2)}), &reference).value == 0);
  CHECK(changed_orders_to_reference(evidence_of({other}), &reference).finding ==
        "first all_reduce of 1MiB on rank 1, against cell");
  CHECK(changed_orders_to_reference(evidence_of({attempt_of(3)}), &reference).missing == "3 ranks against 2");
}

TEST_CASE("every repeat is held against the reference, and the worst one speaks", "[verdict][ranks]") {
  AttemptRecord other = attempt_of(2);
  of_rank(other, 1, 1).digest = std::string(32, 'b');
  const CellEvidence reference = evidence_of({attempt_of(2)});
  const Measurement changed = changed_orders_to_reference(evidence_of({attempt_of(2), other}), &reference);
  CHECK(*changed.value == 1);
  CHECK(changed.repeat == 1);
}

TEST_CASE("a sum on one side alone is missing, but for one that a stack cannot make", "[verdict][ranks]") {
  const CellEvidence whole = evidence_of({attempt_of(2)});
  for (const bool is_record_there : {true, false}) {
    AttemptRecord without = attempt_of(2);
    if (is_record_there) {
      of_rank(without, 1, 1).digest.clear();
    } else {
      without.ranks[1].result->measurements.erase(without.ranks[1].result->measurements.begin() + 1);
    }
    const CellEvidence lacking = evidence_of({without});
    const std::string said = "all_reduce of 1MiB on rank 1 left a sum on one side alone";
    CHECK(changed_orders_to_reference(lacking, &whole).missing == said);
    CHECK(changed_orders_to_reference(whole, &lacking).missing == said);
    CHECK(changed_orders_between_repeats(evidence_of({attempt_of(2), without}), nullptr).missing == said);
  }
  AttemptRecord unable = attempt_of(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    spoil(of_rank(unable, rank, 2), MeasurementStatus::unsupported, "Gloo has none");
    of_rank(unable, rank, 2).digest.clear();
  }
  const Measurement stated = changed_orders_to_reference(evidence_of({unable}), &whole);
  CHECK(*stated.value == 0);
  CHECK(stated.finding == "2 more made on one side alone, first reduce_scatter of 1MiB on rank 0: Gloo has none");
  CHECK_THAT(changed_orders_between_repeats(evidence_of({attempt_of(2), unable}), nullptr).missing,
             Catch::Contains("in one repeat alone"));
}

TEST_CASE("sides without a sum in common have nothing to compare", "[verdict][ranks]") {
  AttemptRecord without = attempt_of(2);
  for (RankRecord& rank : without.ranks) {
    for (ProbeMeasurement& measurement : rank.result->measurements) measurement.digest.clear();
  }
  const CellEvidence neither = evidence_of({without});
  CHECK(changed_orders_to_reference(neither, &neither).missing ==
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
