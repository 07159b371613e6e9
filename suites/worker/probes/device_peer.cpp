// Copies between two GPUs of one process. The probe tells whether either can reach the other's memory, how many bytes a
// second go one way and both ways at once, and how long a small copy takes.
//
// Every copy carries whole numbers that no other copy carries, into memory that held something else. Every element that
// arrived is compared with the numbers that the host had sent, which came by another way.
#include <array>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <c10/core/Device.h>

#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/peer_link.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/probes/size_text.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLatencyBytes = 16;
constexpr float kNotYet = -1'000;  // no number that is sent

std::string direction_text(int from) { return std::to_string(from) + "-" + std::to_string(1 - from); }

// From a launch's cost to where the link is full.
std::vector<std::int64_t> copy_sizes(const ProbeRun& run) {
  if (run.on_cpu()) return {64 << 10, 1 << 20};
  return {64 << 10, 1 << 20, 16 << 20, 256 << 20};
}

// What goes from one device to the other, and where it arrives.
struct Parcel {
  Parcel(const ProbeRun& run, const PeerLink& link, int from, std::int64_t bytes)
      : sent(run.random_whole("peer." + std::to_string(from) + "." + size_text(bytes), bytes / 4).to(at::kCPU)),
        source(sent.to(link.where(from))),
        target(at::full_like(source, kNotYet).to(link.where(1 - from))) {}

  PeerCopy copy() const { return {source, target}; }

  at::Tensor sent;  // the host's
  at::Tensor source;
  at::Tensor target;
};

void measure_one_way(ProbeRun& run, PeerLink& link, const char* operation, int from, std::int64_t bytes,
                     double amount) {
  const Parcel parcel(run, link, from, bytes);
  Operation one;
  one.name = operation;
  one.labels = {{"direction", direction_text(from)}, {"size", size_text(bytes)}};
  one.amount = amount;
  one.time = [&](std::int64_t calls) { return link.time_ns(std::array{parcel.copy()}, calls); };
  one.work = [&] {
    parcel.target.fill_(kNotYet);
    one.time(1);
    return parcel.target;
  };
  one.check = [&](const at::Tensor& result) { return equal_to(result, parcel.sent); };
  run.measure(one);
}

void measure_exchange(ProbeRun& run, PeerLink& link, std::int64_t bytes) {
  const Parcel there(run, link, 0, bytes);
  const Parcel back(run, link, 1, bytes);
  Operation both;
  both.name = "peer_exchange";
  both.labels = {{"direction", "both"}, {"size", size_text(bytes)}};
  both.amount = 2.0 * static_cast<double>(bytes);
  both.time = [&](std::int64_t calls) { return link.time_ns(std::array{there.copy(), back.copy()}, calls); };
  both.work = [&] {
    there.target.fill_(kNotYet);
    back.target.fill_(kNotYet);
    both.time(1);
    return at::cat({there.target.to(at::kCPU), back.target.to(at::kCPU)});
  };
  both.check = [&](const at::Tensor& result) { return equal_to(result, at::cat({there.sent, back.sent})); };
  run.measure(both);
}

}  // namespace

void measure_peer_link(ProbeRun& run, PeerLink& link) {
  for (const int from : {0, 1}) {
    const bool reaches = link.reaches(from, 1 - from);
    run.observe("peer_access", {{"direction", direction_text(from)}}, reaches ? 1 : 0,
                {true, reaches ? "" : "copies go through the host's memory"});
  }
  for (const int from : {0, 1}) measure_one_way(run, link, "peer_latency", from, kLatencyBytes, 1);
  for (const std::int64_t bytes : copy_sizes(run)) {
    for (const int from : {0, 1}) {
      measure_one_way(run, link, "peer_copy", from, bytes, static_cast<double>(bytes));
    }
    measure_exchange(run, link, bytes);
  }
}

void probe_device_peer(ProbeRun& run) { measure_peer_link(run, *open_peer_link(run.request().device)); }

}  // namespace reprobench
