// The memory that a collective is estimated to need while it is measured, against the memory that this process was seen
// to take; and which ranks are told that it is too much. Ranks are threads of this process, so its memory is all ranks'
// together.
#include <fstream>

#include <ATen/core/Tensor.h>
#include <malloc.h>

#include "ci/catch.hpp"
#include "matrix/contract/collective.hpp"
#include "suites/worker/cpu_fixture.hpp"
#include "suites/worker/peak_memory.hpp"
#include "suites/worker/probes/collective_case.hpp"
#include "suites/worker/probes/collectives_fixture.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/ranks/rank_group.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr std::int64_t kGibi = std::int64_t{1} << 30;

// The CPU, with as much memory left as it is told to say.
class CpuWithLeft final : public PlayedCpu {
 public:
  explicit CpuWithLeft(std::int64_t left_bytes) : left_bytes_(left_bytes) {}
  std::int64_t free_bytes() const override { return left_bytes_; }

 private:
  std::int64_t left_bytes_;
};

// Of two ranks; rank N has `left_bytes[N]`.
std::vector<ProbeMeasurement> measured_with(const CollectiveCase& one, const std::vector<std::int64_t>& left_bytes) {
  const auto results = results_of(request_of_ranks(2),
                                  [&](const CellRequest& own, const std::filesystem::path& folder, CellResult& result) {
                                    CpuWithLeft device(left_bytes[static_cast<std::size_t>(own.rank)]);
                                    TraceWriter trace(folder / "trace.jsonl");
                                    ProbeRun run(own, folder, device, trace, result);
                                    RankGroup ranks(own, folder);
                                    measure_collective(run, ranks, one);
                                  });
  return {results[0].measurements.at(0), results[1].measurements.at(0)};
}

// The most that `work` took beyond what was there before.
template <class Work>
std::int64_t taken_at_most_bytes(Work work) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const std::int64_t before = PeakMemory().peak().all_bytes;
  work();
  return PeakMemory().peak().all_bytes - before;
}

TEST_CASE("no collective takes more memory than is said before it begins", "[probe][ranks]") {
  double largest_share = 0;
  for (const Collective& collective : collectives()) {
    for (const Placement placement : {Placement::in_place, Placement::out_of_place}) {
      const CollectiveCase one{collective.name, 64 * kMebi, "fp32", placement, true};
      if (!lacks(one).empty()) continue;
      const std::int64_t taken_bytes =
          taken_at_most_bytes([&] { measured_with(one, std::vector<std::int64_t>(2, 64 * kGibi)); });
      const double share = static_cast<double>(taken_bytes) / static_cast<double>(needed_bytes(one, 2));
      CAPTURE(collective.name, to_string(placement), taken_bytes, share);
      CHECK(share <= 1);
      largest_share = std::max(largest_share, share);
    }
  }
  CHECK(largest_share > 0.7);  // nor is much more said than any takes
}

TEST_CASE("a size for which one rank has too little memory left is not done on any, with the numbers",
          "[probe][ranks]") {
  const CollectiveCase large{"all_reduce", 256 * kMebi, "fp32", Placement::in_place, true};
  for (const ProbeMeasurement& one : measured_with(large, {100 * kGibi, 4 * kGibi})) {
    CHECK(one.status == MeasurementStatus::left_out);
    CHECK(one.samples.empty());
    CHECK(one.finding ==
          "not done: its ranks would need about 3758096384 bytes together, and of the 4294967296 that "
          "they had left four fifths are less");
  }
  const CollectiveCase fits{"broadcast", 80 * kMebi, "fp32", Placement::in_place, true};
  const std::int64_t need_bytes = needed_bytes(fits, 2);
  CHECK(measured_with(fits, {need_bytes * 5 / 4, kGibi * 100})[0].status == MeasurementStatus::measured);
  CHECK(measured_with(fits, {need_bytes * 5 / 4 - 4, kGibi * 100})[0].status == MeasurementStatus::left_out);
  // Of small ones nobody asks.
  CHECK(measured_with({"all_reduce", 4096, "fp32", Placement::in_place, true}, {0, 0})[1].status ==
        MeasurementStatus::measured);
}

}  // namespace
}  // namespace reprobench
