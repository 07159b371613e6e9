// The measurements of the probe of two devices, between two places in the host's memory that play them.
#include <algorithm>
#include <chrono>
#include <set>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "ci/catch.hpp"
#include "matrix/contract/probe.hpp"
#include "suites/worker/peer_link.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

struct HostLink : PeerLink {
  c10::Device where(int) const override { return c10::Device(c10::kCPU); }
  bool reaches(int from, int) const override { return from == 0 || both_reach; }
  double time_ns(std::span<const PeerCopy> copies, std::int64_t calls) override {
    most_at_once = std::max(most_at_once, copies.size());
    const auto began = std::chrono::steady_clock::now();
    for (std::int64_t call = 0; call < calls; ++call) {
      for (const PeerCopy& copy : copies) carry(copy);
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
  }
  virtual void carry(const PeerCopy& copy) { copy.to.copy_(copy.from); }

  bool both_reach = true;
  std::size_t most_at_once = 0;
};

CellRequest peer_request() {
  CellRequest request;
  request.cell_id = "3f9c1e0a7b52";
  request.nonce = "0123456789abcdef";
  request.workload = {"", "base", 0, 0, "device_peer", 3};
  request.device = "cpu";
  request.knobs = with_defaults({});
  return request;
}

std::vector<ProbeMeasurement> measured_over(PeerLink& link, const CellRequest& request = peer_request()) {
  const TemporaryFolder folder;
  const auto device = open_cpu();
  CellResult result;
  TraceWriter trace(folder.path() / "trace.jsonl");
  ProbeRun run(request, folder.path(), *device, trace, result);
  measure_peer_link(run, link);
  return result.measurements;
}

const ProbeMeasurement& measurement_of(const std::vector<ProbeMeasurement>& measurements,
                                       const MeasurementSelection& wanted) {
  const auto found =
      std::ranges::find_if(measurements, [&](const ProbeMeasurement& one) { return wanted.selects(one); });
  if (found == measurements.end()) throw std::runtime_error("no measurement of " + wanted.text());
  return *found;
}

std::size_t wrong_ones(const std::vector<ProbeMeasurement>& measurements) {
  return static_cast<std::size_t>(
      std::ranges::count(measurements, MeasurementStatus::wrong, &ProbeMeasurement::status));
}

TEST_CASE("between two devices each operation is measured each way, and both ways at once", "[probe][peer]") {
  HostLink link;
  const auto measurements = measured_over(link);
  std::set<std::string> seen;
  for (const ProbeMeasurement& one : measurements) {
    CAPTURE(one.operation, one.labels, one.finding);
    seen.insert(one.operation + " " + one.labels.at("direction"));
    CHECK(one.status == MeasurementStatus::measured);
    CHECK(one.samples.size() == (one.operation == "peer_access" ? 1u : 3u));
    CHECK_FALSE(one.peak);
  }
  CHECK(seen == std::set<std::string>{"peer_access 0-1", "peer_access 1-0", "peer_latency 0-1", "peer_latency 1-0",
                                      "peer_copy 0-1", "peer_copy 1-0", "peer_exchange both"});
  for (const ProbeOperation& operation : find_probe("device_peer")->operations) {
    CHECK_NOTHROW(measurement_of(measurements, {std::string(operation.name), {}, ""}));
  }
  CHECK(link.most_at_once == 2);
}

TEST_CASE("access that one device alone has is on record for that direction", "[probe][peer]") {
  HostLink link;
  link.both_reach = false;
  const auto measurements = measured_over(link);
  CHECK(measurement_of(measurements, {"peer_access", {{"direction", "0-1"}}, ""}).samples.at(0) == 1);
  const ProbeMeasurement& other = measurement_of(measurements, {"peer_access", {{"direction", "1-0"}}, ""});
  CHECK(other.samples.at(0) == 0);
  CHECK(other.finding == "copies go through the host's memory");
  CHECK(wrong_ones(measurements) == 0);
}

TEST_CASE("a copy's peak is the link's, both ways at once twice that, and a small copy has none", "[probe][peer]") {
  HostLink link;
  CellRequest request = peer_request();
  request.peaks = DevicePeaks{"H100 SXM", "", 3350, {}, 450, std::nullopt};  // of the card's memory: not these
  const auto without = measured_over(link, request);
  CHECK_FALSE(measurement_of(without, {"peer_copy", {}, ""}).peak);
  request.link_peak = LinkPeak{300, "12 NVLinks x 25000 MB/s, from NVML"};
  const auto measurements = measured_over(link, request);
  CHECK(measurement_of(measurements, {"peer_copy", {{"direction", "1-0"}}, ""}).peak == 300.0);
  CHECK(measurement_of(measurements, {"peer_copy", {}, ""}).peak_source == "12 NVLinks x 25000 MB/s, from NVML");
  CHECK(measurement_of(measurements, {"peer_exchange", {}, ""}).peak == 600.0);
  CHECK_FALSE(measurement_of(measurements, {"peer_latency", {}, ""}).peak);
  CHECK_FALSE(measurement_of(measurements, {"peer_access", {}, ""}).peak);
}

TEST_CASE("a planted wrong element is found in the operation it is planted in, which is not timed", "[probe][peer]") {
  const std::string operation = GENERATE("peer_copy", "peer_exchange", "peer_latency");
  HostLink link;
  CellRequest request = peer_request();
  request.inject = Injection{"result_wrong", 1, operation, 3};
  for (const ProbeMeasurement& one : measured_over(link, request)) {
    CAPTURE(one.operation, one.labels, one.finding);
    CHECK((one.status == MeasurementStatus::wrong) == (one.operation == operation));
    if (one.operation != operation) continue;
    CHECK(one.samples.empty());
    CHECK(one.finding.find("1 of ") == 0);
    CHECK(one.finding.find("the first at 3") != std::string::npos);
  }
}

TEST_CASE("an operation between devices made ten times slower shows it", "[probe][peer]") {
  HostLink link;
  CellRequest request = peer_request();
  request.workload.samples = 5;
  request.inject = Injection{"operation_slow", 1, "peer_copy", 0};
  const auto measurements = measured_over(link, request);
  const auto best = [&](const char* operation) {
    const auto& samples = measurement_of(measurements, {operation, {{"size", "1MiB"}}, ""}).samples;
    return *std::max_element(samples.begin(), samples.end());
  };
  CHECK(best("peer_copy") < best("peer_exchange") / 3);
}

// What fails of 7 directions and sizes: 2 of latency, 4 of copies, 2 of exchanges.
TEST_CASE("a link that carries nothing, a part, or what another copy carried is found", "[probe][peer]") {
  struct Nothing : HostLink {
    void carry(const PeerCopy&) override {}
  } nothing;
  CHECK(wrong_ones(measured_over(nothing)) == 8);
  struct AllButTheLast : HostLink {
    void carry(const PeerCopy& copy) override {
      const std::int64_t most = copy.to.numel() - 1;
      copy.to.narrow(0, 0, most).copy_(copy.from.narrow(0, 0, most));
    }
  } all_but_the_last;
  CHECK(wrong_ones(measured_over(all_but_the_last)) == 8);
  struct OneWay : HostLink {  // the second of two copies at once is lost
    double time_ns(std::span<const PeerCopy> copies, std::int64_t calls) override {
      return HostLink::time_ns(copies.first(1), calls);
    }
  } one_way;
  CHECK(wrong_ones(measured_over(one_way)) == 2);
  struct Crossed : HostLink {  // each sends what the other one should
    double time_ns(std::span<const PeerCopy> copies, std::int64_t calls) override {
      if (copies.size() == 1) return HostLink::time_ns(copies, calls);
      copies[0].to.copy_(copies[1].from);
      copies[1].to.copy_(copies[0].from);
      return 1;
    }
  } crossed;
  CHECK(wrong_ones(measured_over(crossed)) == 2);
}

TEST_CASE("a CPU has no peer, and a worker without CUDA no GPUs to ask", "[probe][peer]") {
  const TemporaryFolder folder;
  CellResult result;
  const auto cause = [&](const std::string& device) {
    CellRequest request = peer_request();
    request.device = device;
    try {
      run_probe(request, folder.path(), result);
    } catch (const RunFailure& failure) {
      return failure.cause() + ": " + failure.what();
    }
    return std::string("none");
  };
  CHECK(cause("cpu") == "unsupported: `device_peer` measures between devices of one process, and a CPU has no peer");
  CHECK(cause("sm_90").starts_with("unsupported: "));
}

}  // namespace
}  // namespace reprobench
