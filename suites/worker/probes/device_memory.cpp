// Bandwidth in every direction, latency and capacity of the device's memory.
//
// The streams are those of J. D. McCalpin's STREAM benchmark with init and read-sum at the ends. Their numbers are
// whole and small, so every result is exact in any order of summation and is compared with one computed element by
// element on the host. Traffic counts the streams the operation must move, not what a cache adds (write-allocate).
#include <algorithm>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/latency/chain.hpp"
#include "kernels/latency/latency_device.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/probes/capacity.hpp"
#include "suites/worker/probes/kernel_streams.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/probes/size_text.hpp"
#include "suites/worker/probes/stream_sizes.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr float kFactor = 3;
constexpr std::uint64_t kFewestLoads = 1 << 16;

std::vector<std::int64_t> stream_sizes(const ProbeRun& run) {
  const ComputeDevice& device = run.compute();
  return run.on_cpu() ? cpu_stream_sizes(device.free_bytes()) : gpu_stream_sizes(device.facts().l2_bytes);
}

// What one operation of a set of streams makes of element i, computed on the host by plain C++.
template <class Element>
at::Tensor filled_on_host(std::int64_t count, Element element) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element(i);
  return at::from_blob(values.data(), {count}, at::kFloat).clone();
}

void measure_streams(ProbeRun& run, std::int64_t bytes) {
  const std::int64_t count = bytes / 4;
  const Labels labels = {{"dtype", "fp32"}, {"size", size_text(bytes)}};
  const at::Tensor b = run.random_whole("stream.b", count);
  const at::Tensor c = run.random_whole("stream.c", count);
  const at::Tensor host_b = b.to(at::kCPU);
  const at::Tensor host_c = c.to(at::kCPU);
  const auto* x = static_cast<const float*>(host_b.data_ptr());
  const auto* y = static_cast<const float*>(host_c.data_ptr());
  at::Tensor a = at::empty_like(b);
  at::Tensor total = at::empty_like(b[0]);
  const at::Tensor factor = at::tensor(kFactor, b.options());
  const auto measure = [&](const char* name, int streams, const std::function<at::Tensor()>& work, auto element) {
    run.measure({name, labels, static_cast<double>(streams) * static_cast<double>(bytes), work,
                 [&](const at::Tensor& result) { return equal_to(result, filled_on_host(count, element)); }});
  };
  measure(
      "init", 1, [&] { return a.fill_(kFactor); }, [](std::size_t) { return kFactor; });
  measure(
      "copy", 2, [&] { return a.copy_(b); }, [&](std::size_t i) { return x[i]; });
  measure(
      "scale", 2, [&] { return at::mul_out(a, b, factor); }, [&](std::size_t i) { return kFactor * x[i]; });
  measure(
      "add", 3, [&] { return at::add_out(a, b, c); }, [&](std::size_t i) { return x[i] + y[i]; });
  measure(
      "triad", 3, [&] { return at::add_out(a, b, c, kFactor); }, [&](std::size_t i) { return x[i] + kFactor * y[i]; });
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += x[i];
  run.measure({"read_sum", labels, static_cast<double>(bytes), [&] { return at::sum_out(total, b, at::IntArrayRef{}); },
               [&](const at::Tensor& result) { return equal_to(result, at::scalar_tensor(sum, at::kFloat)); }});
}

void measure_transfer(ProbeRun& run, const std::string& operation, bool pinned) {
  const std::int64_t bytes = 256 * kMiB;
  const Labels labels = {{"memory", pinned ? "pinned" : "pageable"}, {"size", size_text(bytes)}};
  const at::Tensor content = run.random_whole("transfer", bytes / 4);
  at::Tensor on_device = at::empty_like(content);
  at::Tensor in_host = content.to(at::kCPU);
  if (pinned) in_host = in_host.pin_memory();
  const bool to_device = operation == "host_to_device";
  if (!to_device) {
    on_device.copy_(content);
    in_host.zero_();
  }
  run.measure({operation, labels, static_cast<double>(bytes),
               [&] {
                 return to_device ? on_device.copy_(in_host, /*non_blocking=*/true)
                                  : in_host.copy_(on_device, /*non_blocking=*/true);
               },
               [&](const at::Tensor& result) {
                 run.compute().synchronize();
                 return equal_to(result, content);
               }});
}

void measure_transfers(ProbeRun& run) {
  for (const char* operation : {"host_to_device", "device_to_host"}) {
    for (const bool pinned : {true, false}) {
      if (run.on_cpu()) {
        run.cannot(operation, {{"memory", pinned ? "pinned" : "pageable"}}, "a CPU is its own host");
      } else {
        measure_transfer(run, operation, pinned);
      }
    }
  }
}

// Once its pages have come to the card, a triad there should cost what it costs in the card's own memory.
void measure_unified(ProbeRun& run) {
  if (run.on_cpu()) return run.cannot("unified", {}, "a CPU's memory is its own");
  const std::int64_t bytes = std::min(256 * kMiB, run.compute().free_bytes() / 8);
  const std::int64_t count = bytes / 4;
  const at::Tensor content = run.random_whole("unified", count);
  const at::Tensor b = unified_tensor(count).copy_(content);
  const at::Tensor c = unified_tensor(count).copy_(content);
  at::Tensor a = unified_tensor(count);
  const at::Tensor host = content.to(at::kCPU);
  const auto* x = static_cast<const float*>(host.data_ptr());
  run.measure({"unified",
               {{"dtype", "fp32"}, {"size", size_text(bytes)}},
               3.0 * static_cast<double>(bytes),
               [&] { return at::add_out(a, b, c, kFactor); },
               [&](const at::Tensor& result) {
                 return equal_to(result, filled_on_host(count, [&](std::size_t i) { return x[i] + kFactor * x[i]; }));
               }});
}

void measure_own_kernels(ProbeRun& run) {
  if (run.on_cpu()) {
    for (const char* operation : {"ordered_sum", "digest"}) {
      run.cannot(operation, {}, "the CPU's own is what a GPU's is checked against");
    }
    return;
  }
  const std::int64_t largest = stream_sizes(run).back();
  measure_kernel_streams(run, largest, size_text(largest));
}

// From a multiprocessor's own cache through the L2 to the memory behind it.
void chase_on_gpu(ProbeRun& run) {
  constexpr std::uint64_t kSteps = 1 << 16;
  for (const std::int64_t bytes : {std::int64_t{64} << 10, 8 * kMiB, 512 * kMiB}) {
    const std::int64_t began_ns = run.now_ns();
    const AccessLatency latency =
        measure_latency(*run.compute().kernels(), static_cast<std::uint64_t>(bytes), kSteps, run.compute().stream());
    run.observe("pointer_chase", {{"size", size_text(bytes)}}, latency.time_ns,
                {latency.correct, latency.correct ? "" : "the chase ended elsewhere than on the host"}, began_ns);
  }
}

void chase(ProbeRun& run) {
  if (!run.on_cpu()) return chase_on_gpu(run);
  constexpr std::uint64_t kLineBytes = 64;
  for (const std::int64_t bytes : {std::int64_t{16} << 10, std::int64_t{256} << 10, 4 * kMiB, 64 * kMiB}) {
    const std::uint64_t lines = static_cast<std::uint64_t>(bytes) / kLineBytes;
    const auto chain = make_chain(lines, kLineBytes / sizeof(std::uint64_t), static_cast<std::uint32_t>(run.seed()));
    // Whole turns, which end where they began; enough of them for the rest of a call to weigh nothing.
    const std::uint64_t loads = std::max(lines, kFewestLoads / lines * lines);
    std::uint64_t end = 0;
    at::Tensor arrived = at::tensor(std::int64_t{-1});
    run.measure({"pointer_chase",
                 {{"size", size_text(bytes)}},
                 static_cast<double>(loads),
                 [&] {
                   end = walk_chain(chain, end, loads);
                   return arrived.fill_(static_cast<std::int64_t>(end));
                 },
                 [&](const at::Tensor& result) { return equal_to(result, at::zeros_like(result)); }});
  }
}

// A bounded share of what is free, because other processes live here too.
void measure_capacity(ProbeRun& run) {
  const std::int64_t most = run.on_cpu() ? 512 * kMiB : 8192 * kMiB;
  const std::int64_t bytes = std::min(run.compute().free_bytes() / 8, most);
  std::vector<at::Tensor> blocks = allocate_blocks(run.device(), bytes);
  if (blocks.empty()) return run.cannot("capacity", {}, "too little memory is free");
  CapacityFinding worst;
  for (const bool complemented : {false, true}) {
    write_addresses(blocks, complemented);
    if (const Injection* fault = run.planted("result_bit", "capacity"); fault != nullptr && !complemented) {
      blocks[0][fault->element % blocks[0].numel()].bitwise_xor_(1);
    }
    const CapacityFinding finding = verify_addresses(blocks, complemented);
    if (!complemented || finding.wrong_words > worst.wrong_words) worst = finding;
  }
  const std::string sentence =
      worst.wrong_words == 0 ? "" : std::to_string(worst.wrong_words) + " words are wrong: " + worst.first_wrong;
  run.observe("capacity", {}, static_cast<double>(worst.verified_bytes), {worst.wrong_words == 0, sentence});
}

}  // namespace

void probe_device_memory(ProbeRun& run) {
  for (const std::int64_t bytes : stream_sizes(run)) measure_streams(run, bytes);
  measure_own_kernels(run);
  measure_transfers(run);
  measure_unified(run);
  chase(run);
  measure_capacity(run);
}

}  // namespace reprobench
