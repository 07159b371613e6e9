// What the tests of this layer share: a vocabulary, a suite, and hosts with and without GPUs.
#pragma once

#include <string>

#include <fmt/format.h>

#include "matrix/plan/plan.hpp"

namespace reprobench {

// A knob's value, default or not, as text.
inline std::string knob_of(const Cell& cell, const std::string& name) {
  return every_knob(cell.request.knobs).at(name);
}

inline Vocabulary test_vocabulary() {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  static constexpr MetricInfo kMetrics[] = {
      {"numerics.final_loss", "loss", Better::lower, Dimension::numerics, "", "", false, Compared::not_yet, -kAny,
       kAny},
      {"numerics.end_loss", "loss", Better::lower, Dimension::numerics, ""},
      {"numerics.loss_fall_rel", "rel", Better::higher, Dimension::numerics, ""},
      {"numerics.alike_seeds", "count", Better::lower, Dimension::numerics, "", "", false, Compared::with_others},
      {"numerics.seed_spread_rel", "rel", Better::lower, Dimension::numerics, "", "", false, Compared::with_others},
      {"numerics.repeat_mismatches", "count", Better::lower, Dimension::numerics, "", "", false, Compared::with_others},
      {"numerics.reference_mismatches", "count", Better::lower, Dimension::numerics, "", "", false,
       Compared::with_reference},
      {"numerics.resume_mismatches", "count", Better::lower, Dimension::numerics, "", "", false, Compared::with_others},
      {"numerics.host_mismatches", "count", Better::lower, Dimension::numerics, "", "", false, Compared::with_others},
      {"numerics.by_construction_mismatches", "count", Better::lower, Dimension::numerics, "", "", false,
       Compared::with_others},
      {"numerics.rank_mismatches", "count", Better::lower, Dimension::numerics, "", "", false, Compared::with_others},
      {"numerics.layout_mismatches", "count", Better::lower, Dimension::numerics, "", "", false, Compared::with_others},
      {"numerics.replica_mismatches", "count", Better::lower, Dimension::numerics, "", "", false,
       Compared::with_others},
      {"numerics.skipped_updates", "rel", Better::lower, Dimension::numerics, ""},
      {"data.wait_share", "rel", Better::lower, Dimension::throughput, ""},
      {"memory.model_state_share", "rel", Better::lower, Dimension::memory, "", "", false, Compared::with_others},
      {"memory.model_state_bound_share", "rel", Better::lower, Dimension::memory, "", "", false, Compared::with_others},
      {"memory.device_state_bound_share", "rel", Better::lower, Dimension::memory, "", "", false,
       Compared::with_others},
      {"comm.overlap_share", "rel", Better::higher, Dimension::communication, "", "", false, Compared::not_yet},
      {"throughput.strong_scaling_efficiency", "rel", Better::higher, Dimension::throughput, "", "", false,
       Compared::with_others},
      {"throughput.weak_scaling_efficiency", "rel", Better::higher, Dimension::throughput, "", "", false,
       Compared::with_others},
      {"comm.step_share", "rel", Better::lower, Dimension::communication, "", "", false, Compared::not_yet},
      {"memory.optimizer_state_share", "rel", Better::lower, Dimension::memory, "", "", false, Compared::with_others},
      {"memory.peak_anonymous_share", "rel", Better::lower, Dimension::memory, "", "", false, Compared::with_reference},
      {"numerics.first_gradient_rel", "rel", Better::lower, Dimension::numerics, "", "", false,
       Compared::with_reference},
      {"numerics.first_gradient_tensor_rel", "rel", Better::lower, Dimension::numerics, "", "", false,
       Compared::with_reference},
      {"numerics.cpu_first_step_rel", "rel", Better::lower, Dimension::numerics, "", "", false, Compared::with_others},
      {"numerics.beyond_rounding", "count", Better::lower, Dimension::numerics, "", "", false,
       Compared::with_reference},
      {"numerics.loss_rel", "rel", Better::lower, Dimension::numerics, "", "", false, Compared::with_reference},
      {"numerics.changed_calls", "count", Better::lower, Dimension::numerics, "", "", false, Compared::with_reference},
      {"numerics.broken_calls", "count", Better::lower, Dimension::numerics, "", "", false, Compared::with_reference},
      {"throughput.step_time", "ns", Better::lower, Dimension::throughput, ""},
      {"throughput.mean_step_time", "ns", Better::lower, Dimension::throughput, ""},
      {"throughput.step_time_p99", "ns", Better::lower, Dimension::throughput, ""},
      {"throughput.slowest_steps_time", "ns", Better::lower, Dimension::throughput, ""},
      {"throughput.slowest_quarter_step_time", "ns", Better::lower, Dimension::throughput, ""},
      {"throughput.time_outside_steps", "ns", Better::lower, Dimension::throughput, ""},
      {"throughput.start_to_first_step", "ns", Better::lower, Dimension::throughput, ""},
      {"throughput.gemm_peak_share", "rel", Better::higher, Dimension::throughput, ""},
      {"throughput.mfu", "rel", Better::higher, Dimension::throughput, ""},
      {"numerics.weight_change_rel", "rel", Better::lower, Dimension::numerics, ""},
      {"device.step_energy", "J", Better::lower, Dimension::throughput, ""},
      {"throughput.samples", "1/s", Better::higher, Dimension::throughput, ""},
      {"memory.peak_rss", "bytes", Better::lower, Dimension::memory, ""},
      {"memory.peak_anonymous", "bytes", Better::lower, Dimension::memory, ""},
      {"memory.anonymous_growth", "bytes", Better::lower, Dimension::memory, ""},
      {"memory.device_peak", "bytes", Better::lower, Dimension::memory, ""},
      {"memory.rss_growth", "bytes", Better::lower, Dimension::memory, ""},
      {"device.changed_algorithms", "count", Better::lower, Dimension::numerics, "", "", false,
       Compared::with_reference},
      {"device.wrong_results", "count", Better::lower, Dimension::numerics, "", "any"},
      {"numerics.forward_mismatches", "count", Better::lower, Dimension::numerics, "", "", false,
       Compared::with_others},
      {"numerics.package_mismatches", "count", Better::lower, Dimension::numerics, "", "count"},
      {"device.stress_mismatches", "count", Better::lower, Dimension::numerics, "", "any"},
      {"device.bandwidth", "GB/s", Better::higher, Dimension::memory, "", "GB/s"},
      {"device.step_energy", "J", Better::lower, Dimension::throughput, ""},
      {"device.utilisation", "rel", Better::higher, Dimension::throughput, ""},
      {"device.bandwidth_share", "rel", Better::higher, Dimension::memory, "", "GB/s", true},
      {"device.flop_rate", "TFLOP/s", Better::higher, Dimension::throughput, "", "TFLOP/s"},
      {"device.flop_share", "rel", Better::higher, Dimension::throughput, "", "TFLOP/s", true},
      {"device.latency", "ns", Better::lower, Dimension::throughput, "", "ns"},
      {"device.capacity", "bytes", Better::higher, Dimension::memory, "", "bytes"},
      {"comm.wrong_results", "count", Better::lower, Dimension::communication, "", "ns"},
      {"comm.call_mismatches", "count", Better::lower, Dimension::communication, "", "ns"},
      {"comm.rank_mismatches", "count", Better::lower, Dimension::communication, "", "ns"},
      {"comm.repeat_mismatches", "count", Better::lower, Dimension::communication, "", "", false,
       Compared::with_others},
      {"comm.reference_mismatches", "count", Better::lower, Dimension::communication, "", "", false,
       Compared::with_reference},
      {"comm.latency_ratio", "rel", Better::lower, Dimension::communication, "", "", false, Compared::with_reference},
      {"comm.latency_p50", "ns", Better::lower, Dimension::communication, "", "ns"},
      {"comm.latency_p99", "ns", Better::lower, Dimension::communication, "", "ns"},
      {"comm.bus_bandwidth", "GB/s", Better::higher, Dimension::communication, "", "ns"},
      {"comm.bus_bandwidth_share", "rel", Better::higher, Dimension::communication, "", "ns"},
      {"comm.startup_time", "ns", Better::lower, Dimension::communication, "", "ns"},
      {"comm.fitted_bandwidth", "GB/s", Better::higher, Dimension::communication, "", "ns"},
  };
  return {kMetrics, {"clip", "fusion", "gpt2", "llama", "mlp", "resnet", "vlm"}};
}

inline SuiteSpec parse_test_suite(const std::string& name, const std::string& more = "") {
  const std::string text = fmt::format(
      "schema: 1\nname: {}\nworkloads: [{{model: mlp, preset: default, steps: 20, batch_size: 32}}]\n{}", name, more);
  return parse_suite(text, fmt::format("{}.yaml", name), test_vocabulary());
}

inline MatrixSpec parse_test_matrix(const std::string& body) {
  return parse_matrix(fmt::format("schema: 1\nname: m\nsuites: [smoke]\n{}", body), "m.yaml", test_vocabulary());
}

inline HostFacts cpu_host() {
  HostFacts host;
  host.host_name = "h";
  host.os = "Debian GNU/Linux 12 (bookworm)";
  host.kernel = "6.1.0";
  host.glibc = "2.36";
  host.architecture = "x86_64";
  host.cpu_model = "Test CPU";
  host.cpu_isa = {"avx2"};
  host.cores = 2;
  host.memory_bytes = std::int64_t{16} << 30;
  return host;
}

inline HostFacts gpu_host(const std::string& name, const std::string& compute_capability, const std::string& driver,
                          int count = 1) {
  HostFacts host = cpu_host();
  host.driver = driver;
  GpuFacts gpu;
  gpu.name = name;
  gpu.compute_capability = compute_capability;
  gpu.memory_bytes = std::int64_t{80} << 30;
  for (int i = 0; i < count; ++i) {
    gpu.uuid = "GPU-" + std::to_string(i);
    host.gpus.push_back(gpu);
  }
  return host;
}

}  // namespace reprobench
