// The probe of collectives between ranks whose group works behind the host's back and has a clock and a log of its own,
// as on GPUs: everything but NCCL. The collectives themselves are Gloo's.
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

#include "ci/catch.hpp"
#include "suites/worker/probes/collective_case.hpp"
#include "suites/worker/probes/collectives_fixture.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/ranks/meeting.hpp"
#include "suites/worker/ranks/queued_group.hpp"
#include "suites/worker/ranks/rank_group.hpp"

namespace reprobench {
namespace {

constexpr double kPlayedTime_ns = 1234;

// What rank 0's log says once, and of each call behind its name and bytes.
struct CollectiveLines {
  const char* at_the_start;
  const char* of_a_call;
};

class PlayedQueue final : public CollectiveQueue {
 public:
  PlayedQueue(const Meeting& meeting, const CollectiveLines& lines)
      : lines_(lines), writes_(meeting.rank == 0), host_(join_gloo(meeting)) {
    if (writes_) log_ = lines_.at_the_start;
  }

  std::string_view library() const override { return "nccl"; }
  c10::Device where() const override { return host_->where(); }
  std::optional<std::int64_t> device_time_ns() override { return static_cast<std::int64_t>(kPlayedTime_ns); }
  std::string take_log() override { return std::exchange(log_, {}); }

  void all_reduce(at::Tensor& values) override {
    queue("AllReduce", [this, &values] { host_->all_reduce(values); });
  }
  void reduce(at::Tensor& values, int root) override {
    queue("Reduce", [this, &values, root] { host_->reduce(values, root); });
  }
  void broadcast(at::Tensor& values, int root) override {
    queue("Broadcast", [this, &values, root] { host_->broadcast(values, root); });
  }
  void all_gather(const at::Tensor& own, at::Tensor& all) override {
    queue("AllGather", [this, &own, &all] { host_->all_gather(own, all); });
  }
  void reduce_scatter(const at::Tensor& all, at::Tensor& own) override {
    queue("ReduceScatter", [this, &all, &own] { host_->reduce_scatter(all, own); });
  }
  void all_to_all(const at::Tensor& sent, at::Tensor& received) override {
    queue("", [this, &sent, &received] { host_->all_to_all(sent, received); });
  }
  void shift(const at::Tensor& sent, at::Tensor& received) override {
    queue("", [this, &sent, &received] { host_->shift(sent, received); });
  }
  void barrier() override {
    queue("", [this] { host_->barrier(); });
  }

  bool is_done() override {
    if (!call_.valid()) return true;
    if (call_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    call_.get();
    return true;
  }
  std::string trouble() override { return ""; }
  void abort() noexcept override {}

 private:
  template <class Call>
  void queue(const std::string& function, Call call) {
    if (writes_ && !function.empty() && *lines_.of_a_call != '\0') {
      log_ += "NCCL INFO " + function + ": 8 " + lines_.of_a_call;
    }
    call_ = std::async(std::launch::async, call);
  }

  CollectiveLines lines_;
  bool writes_;
  std::unique_ptr<ProcessGroup> host_;
  std::string log_;
  std::future<void> call_;
};

template <const CollectiveLines& kLines>
std::unique_ptr<ProcessGroup> join_played(const Meeting& meeting) {
  return waiting_for(std::make_shared<PlayedQueue>(meeting, kLines), meeting.timeout);
}

std::vector<CellResult> results_on_played_device(const CellRequest& request, JoinGroup join,
                                                 void (*measure)(ProbeRun&, RankGroup&) = &measure_collectives) {
  return results_of(request, [&](const CellRequest& own, const std::filesystem::path& folder, CellResult& result) {
    const auto device = open_cpu();
    TraceWriter trace(folder / "trace.jsonl");
    ProbeRun run(own, folder, *device, trace, result);
    RankGroup ranks(own, folder, join);
    measure(run, ranks);
  });
}

const CollectiveLines kRing{"NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n",
                            "Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n"};
const CollectiveLines kThroughMemory{"NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n", ""};

TEST_CASE("calls of a device are timed by its clock, and their results are held against what they must be",
          "[probe][ranks]") {
  CellRequest request = request_of_ranks(2);
  const auto results = results_on_played_device(request, &join_played<kRing>);
  for (const CellResult& result : results) {
    for (const ProbeMeasurement& one : result.measurements) {
      CAPTURE(one.operation, one.labels, one.finding);
      if (one.status == MeasurementStatus::unsupported) continue;
      CHECK(one.status == MeasurementStatus::measured);
      CHECK(one.labels.at("library") == "nccl");
      if (one.operation == "barrier") continue;  // by the host's: until a rank has seen that all have come
      CHECK(one.samples == std::vector<double>(4, kPlayedTime_ns));
    }
  }
  CHECK(measured(results[0], "all_reduce", "4KiB").digest ==
        measured(results_of(request)[0], "all_reduce", "4KiB").digest);
}

TEST_CASE("what the library's log tells of a call stands beside its measurement, on the rank that wrote it",
          "[probe][ranks]") {
  const auto results = results_on_played_device(request_of_ranks(2), &join_played<kRing>);
  CHECK(measured(results[0], "all_reduce", "4KiB").algorithm == "RING LL, 2 channels");
  CHECK(measured(results[0], "all_gather", "8B").algorithm == "RING LL, 2 channels");
  CHECK(measured(results[0], "send_recv", "8B").algorithm.empty());  // made of sends and receives
  CHECK(measured(results[1], "all_reduce", "4KiB").algorithm.empty());
  REQUIRE(results[0].nccl);
  REQUIRE(results[0].nccl->transports.size() == 1);
  CHECK(results[0].nccl->transports[0].transport == "peer");
  CHECK(results[1].nccl->problem == "NCCL wrote no log");
  CHECK_FALSE(results_of(request_of_ranks(2))[0].nccl);  // over Gloo
}

TEST_CASE("a link is on record only where the rank goes straight to the other's memory", "[probe][ranks]") {
  const DevicePeaks h100{"H100 SXM", "", 3350, {}, 450, {}};
  const auto links_of = [&](JoinGroup join, const std::optional<DevicePeaks>& peaks,
                            const std::optional<LinkPeak>& link) {
    CellRequest request = request_of_ranks(2);
    request.peaks = peaks;
    request.link_peak = link;
    const auto results = results_on_played_device(request, join, [](ProbeRun& run, RankGroup& ranks) {
      measure_collective(run, ranks, {"all_reduce", std::int64_t{1} << 20});
    });
    return std::pair(results[0].measurements.at(0).link_gb_per_s, results[1].measurements.at(0).link_gb_per_s);
  };
  const auto direct = links_of(&join_played<kRing>, h100, {});
  CHECK(direct.first == 450.0);
  CHECK_FALSE(direct.second);  // its log says nothing
  // What the host's topology says of the attempt's own GPUs comes before the data sheet.
  const LinkPeak pair{300, "12 NVLinks x 25000 MB/s, from NVML"};
  CHECK(links_of(&join_played<kRing>, h100, pair).first == 300.0);
  CHECK(links_of(&join_played<kRing>, {}, pair).first == 300.0);
  CHECK_FALSE(links_of(&join_played<kThroughMemory>, h100, pair).first);
  CHECK_FALSE(links_of(&join_played<kRing>, {}, {}).first);
  CHECK_FALSE(links_of(&join_played<kThroughMemory>, h100, {}).first);
}

TEST_CASE("on a device too a wrong element, another bit and a late rank are found", "[probe][ranks]") {
  CellRequest request = request_of_ranks(2);
  request.inject = Injection{"result_wrong", 3, "all_gather", 6, 1};
  auto results = results_on_played_device(request, &join_played<kRing>);
  CHECK(measured(results[1], "all_gather", "4KiB").finding ==
        "in call 3 element 6 is 999896 (0x49741d80) instead of -104 (0xc2d00000); 1 of 1024 elements are wrong");
  CHECK(measured(results[1], "all_gather", "4KiB").samples.empty());
  request.inject = Injection{"result_bit", 2, "all_reduce", 5, 1};
  results = results_on_played_device(request, &join_played<kRing>);
  CHECK(measured(results[1], "all_reduce", "4KiB").results_differing == 1);
  CHECK(measured(results[0], "all_reduce", "4KiB").results_differing == 0);
  request.workload.samples = 3;
  request.inject = Injection{"operation_slow", 1, "broadcast", 0, 1};
  results = results_on_played_device(request, &join_played<kRing>);
  CHECK_THAT(measured(results[0], "broadcast", "4KiB").finding, Catch::StartsWith("rank 1 comes last, "));
}

}  // namespace
}  // namespace reprobench
