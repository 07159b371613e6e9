// The probe of collectives on the CPU, its ranks as threads, with and without a planted fault.
#include <algorithm>
#include <set>

#include "ci/catch.hpp"
#include "matrix/contract/collective.hpp"
#include "matrix/contract/probe.hpp"
#include "suites/worker/probes/collective_case.hpp"
#include "suites/worker/probes/collectives_fixture.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/ranks/crafted_values.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

TEST_CASE("every collective is right on every rank, and timed call by call", "[probe][ranks]") {
  const int ranks = GENERATE(2, 3);
  const auto results = results_of(request_of_ranks(ranks));
  std::set<std::string> seen;
  for (const CellResult& result : results) {
    for (const ProbeMeasurement& one : result.measurements) {
      CAPTURE(ranks, one.operation, one.labels, one.finding);
      seen.insert(one.operation);
      const Collective* collective = find_collective(one.operation);
      // Gloo of LibTorch before 2.4 has no reduce_scatter, and says so.
      if (one.status == MeasurementStatus::unsupported) {
        CHECK(one.operation == "reduce_scatter");
        CHECK_THAT(one.finding, Catch::Contains("not support"));
        continue;
      }
      CHECK(one.status == MeasurementStatus::measured);
      CHECK(one.samples.size() == 4);
      CHECK(*std::ranges::min_element(one.samples) > 0);
      CHECK(one.results_differing == 0);
      CHECK(one.algorithm.empty());
      CHECK(one.algorithm_unknown == "gloo tells nothing of how it does a collective");
      if (collective == nullptr) continue;
      CHECK(one.results_compared == (collective->adds_up ? 9 : 0));
      const bool is_elsewhere = one.operation == "reduce" && &result != &results.front();
      CHECK(one.digest.empty() == (!collective->adds_up || is_elsewhere));
      CHECK((!collective->is_same_everywhere ||
             one.digest == measured(results.front(), one.operation, one.labels.at("size")).digest));
    }
  }
  for (const ProbeOperation& operation : find_probe("collectives")->operations) {
    CHECK(seen.contains(std::string(operation.name)));
  }
  // 1 MiB of all_gather is what all ranks hold together; three do not divide it.
  CHECK(measured(results[0], "all_reduce", "1MiB").bytes == 1 << 20);
  CHECK(measured(results[0], "all_gather", "1MiB").bytes == (ranks == 2 ? 1 << 20 : 1'048'572));
  CHECK(measured(results[0], "all_gather", "8B").bytes == (ranks == 2 ? 8 : 12));
  CHECK(results[0].chain != results[0].workload_digest);
}

TEST_CASE("the order of summation is the same in another meeting", "[probe][ranks]") {
  CellRequest request = request_of_ranks(3);
  request.workload.samples = 1;
  CHECK(results_of(request)[0].chain == results_of(request)[0].chain);
  const std::string chain = results_of(request)[0].chain;
  request.inject = Injection{"result_bit", 1, "all_reduce", 0, 0};
  CHECK(results_of(request)[0].chain != chain);
}

TEST_CASE("a wrong element of one call is found on its rank alone, whatever was timed is dropped", "[probe][ranks]") {
  CellRequest request = request_of_ranks(2);
  request.inject = Injection{"result_wrong", 3, "all_gather", 6, 1};
  const auto results = results_of(request);
  CHECK(measured(results[0], "all_gather", "4KiB").status == MeasurementStatus::measured);
  const ProbeMeasurement& wrong = measured(results[1], "all_gather", "4KiB");
  CHECK(wrong.status == MeasurementStatus::wrong);
  CHECK(wrong.samples.empty());
  // Element 6 of rank 0 in call 3: (6 + 15) mod 251 - 125 = -104.
  CHECK(wrong.finding ==
        "in call 3 element 6 is 999896 (0x49741d80) instead of -104 (0xc2d00000); 1 of 1024 elements are wrong");
  CHECK(measured(results[1], "broadcast", "4KiB").status == MeasurementStatus::measured);
}

TEST_CASE("a bit of one repeated sum is counted on its rank", "[probe][ranks]") {
  CellRequest request = request_of_ranks(2);
  request.inject = Injection{"result_bit", 2, "all_reduce", 5, 1};
  const auto results = results_of(request);
  CHECK(measured(results[0], "all_reduce", "4KiB").results_differing == 0);
  CHECK(measured(results[1], "all_reduce", "4KiB").results_differing == 1);
  CHECK(measured(results[1], "all_reduce", "4KiB").digest == measured(results[0], "all_reduce", "4KiB").digest);
}

// The other rank may be late itself, by as long as a busy machine lets it wait.
constexpr double kPlantedDelayUs = 100'000;

TEST_CASE("a rank that comes late makes all wait, and is named by all", "[probe][ranks]") {
  CellRequest request = request_of_ranks(2);
  request.workload.samples = 3;
  request.inject = Injection{"operation_slow", 1, "broadcast", 0, 1};
  const auto results = results_of(request);
  for (const CellResult& result : results) {
    const ProbeMeasurement& slow = measured(result, "broadcast", "4KiB");
    const std::string begin = "rank 1 comes last, ";
    CHECK_THAT(slow.finding, Catch::StartsWith(begin) && Catch::EndsWith("median of 3 calls"));
    CHECK(std::stod(slow.finding.substr(begin.size())) > 0.8 * kPlantedDelayUs);
    CHECK(slow.status == MeasurementStatus::measured);
  }
  CHECK(measured(results[1], "broadcast", "4KiB").samples.front() > 0.8e3 * kPlantedDelayUs);
}

TEST_CASE("a rank that leaves one out is found by the call that the other cannot end", "[probe][ranks]") {
  CellRequest request = request_of_ranks(2);
  request.collective_timeout_ms = 1'000;
  request.inject = Injection{"collective_skipped", 2, "all_reduce", 0, 1};
  try {
    results_of(request);
    FAIL("nothing was missing");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == "collective");
    CHECK(failure.waited_for() == 1);
    CHECK_THAT(failure.what(),
               Catch::Contains("all_reduce of 8 bytes (fp32), failed after 1.") && Catch::Contains("rank 1 does call"));
  }
}

TEST_CASE("of three ranks the one with another shape, type or order is named by all", "[probe][ranks]") {
  const std::string kind = GENERATE("collective_shape", "collective_dtype", "collective_order");
  CellRequest request = request_of_ranks(3);
  request.collective_timeout_ms = 3'000;
  request.inject = Injection{kind, 2, "all_reduce", 0, 1};
  try {
    results_of(request);
    FAIL("nothing was found");
  } catch (const RunFailure& failure) {
    INFO(kind << ": " << failure.what());
    CHECK(failure.cause() == "collective");
    CHECK(failure.waited_for() == 1);
  }
}

TEST_CASE("a rank that looks for the others elsewhere is named with the place", "[probe][ranks]") {
  CellRequest request = request_of_ranks(3);
  request.collective_timeout_ms = 1'000;
  request.inject = Injection{"rendezvous_lost", 1, "all_reduce", 0, 1};
  try {
    results_of(request);
    FAIL("they met");
  } catch (const RunFailure& failure) {
    CHECK(failure.waited_for() == 1);
    CHECK_THAT(failure.what(), Catch::Contains("meeting (rendezvous.lost)"));
  }
}

TEST_CASE("the preset `full` has every size, type and placement, or says why not", "[probe][ranks]") {
  const auto cases = collective_cases("all_gather", "full");
  const auto count = [&](auto has) { return std::ranges::count_if(cases, has); };
  CHECK(count([](const CollectiveCase& one) { return one.dtype == "fp32"; }) == 2 * 28);
  CHECK(count([](const CollectiveCase& one) { return one.size_bytes == std::int64_t{1} << 30; }) == 2);
  for (const std::string_view dtype : collective_dtypes()) {
    CHECK(count([&](const CollectiveCase& one) {
            return one.dtype == dtype && one.size_bytes == 4096 && one.placement == Placement::in_place;
          }) == 1);
  }
  CHECK(lacks({"all_reduce", 8, "fp32", Placement::out_of_place}) ==
        "not supported: process groups have it in place alone");
  CHECK(lacks({"send_recv", 8, "fp32", Placement::in_place}) ==
        "not supported: what is received may not lie where it is sent from");
  for (const Collective& collective : collectives()) {
    const bool none = !lacks({collective.name, 8, "fp32", Placement::in_place}).empty() &&
                      !lacks({collective.name, 8, "fp32", Placement::out_of_place}).empty();
    CHECK_FALSE(none);
    for (const CollectiveCase& one : collective_cases(collective.name, "base")) CHECK(lacks(one).empty());
    for (const CollectiveCase& one : collective_cases(collective.name, "sweep")) CHECK(lacks(one).empty());
  }
  CHECK(needed_bytes({"all_reduce", 1000}, 4) == 28'000);
}

TEST_CASE("between GPUs sizes go on to what fills their links, in the same few places", "[probe][ranks]") {
  const auto sizes = [](const char* preset, bool between_gpus) {
    std::vector<std::int64_t> bytes;
    for (const CollectiveCase& one : collective_cases("all_reduce", preset, between_gpus)) {
      bytes.push_back(one.size_bytes);
    }
    return bytes;
  };
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  CHECK(sizes("base", false) == std::vector<std::int64_t>{8, 4096, 262'144, kMiB});
  CHECK(sizes("base", true) == std::vector<std::int64_t>{8, 4096, 262'144, kMiB, 64 * kMiB, 256 * kMiB});
  CHECK(sizes("sweep", false).back() == 32 * kMiB);
  CHECK(sizes("sweep", true).size() == sizes("sweep", false).size() + 3);
  CHECK(sizes("sweep", true).back() == 1024 * kMiB);
  CHECK(sizes("full", true) == sizes("full", false));
}

TEST_CASE("collectives need several ranks, and other probes one", "[probe][ranks]") {
  const TemporaryFolder folder;
  CellResult result;
  CHECK_THROWS_WITH(run_probe(request_of_ranks(1), folder.path(), result), "`collectives` needs several ranks");
  CellRequest request = request_of_ranks(2);
  request.workload.probe = "device_smoke";
  CHECK_THROWS_WITH(run_probe(request, folder.path(), result), "`device_smoke` has one rank");
  request = request_of_ranks(2);
  request.device = "sm_90";
  CHECK_THROWS_WITH(run_probe(request, folder.path(), result),
                    Catch::StartsWith("cannot train on `sm_90`: this worker was built without CUDA"));
}

}  // namespace
}  // namespace reprobench
