#include "matrix/verdict/metrics/metrics.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "matrix/verdict/metrics/bitwise.hpp"
#include "matrix/verdict/metrics/collective_metrics.hpp"
#include "matrix/verdict/metrics/compute_share.hpp"
#include "matrix/verdict/metrics/difference_metrics.hpp"
#include "matrix/verdict/metrics/layout_metrics.hpp"
#include "matrix/verdict/metrics/learning_metrics.hpp"
#include "matrix/verdict/metrics/memory_metrics.hpp"
#include "matrix/verdict/metrics/probe_metrics.hpp"
#include "matrix/verdict/metrics/replica_metrics.hpp"
#include "matrix/verdict/metrics/resume_metrics.hpp"
#include "matrix/verdict/metrics/scaling_metrics.hpp"
#include "matrix/verdict/metrics/skipped_updates.hpp"
#include "matrix/verdict/metrics/state_memory_metrics.hpp"
#include "matrix/verdict/metrics/step_metrics.hpp"

namespace reprobench {
namespace {

using enum Dimension;
constexpr auto kLower = Better::lower;
constexpr auto kHigher = Better::higher;
constexpr auto kPaired = Aggregate::median_paired;
constexpr auto kWorst = Aggregate::worst;

// The functions of this folder ask for no more than they use; here they become one signature.
template <auto Measure>
Measurement measured_by(const MetricInput& input) {
  using Of = decltype(Measure);
  if constexpr (std::is_invocable_v<Of, const CellEvidence&, const CellEvidence*>) {
    return Measure(input.cell, input.other);
  } else if constexpr (std::is_invocable_v<Of, const AttemptRecord&, const MeasurementSelection&>) {
    return Measure(*input.attempt, *input.of);
  } else {
    const std::optional<double> value = Measure(*input.attempt);
    if (value) return {value, std::nullopt, ""};
    return no_value(fmt::format("repeat {} of {} did not record it", input.attempt->repeat, input.cell.slug));
  }
}

template <auto Measure>
constexpr Metric::Function kBy = {&measured_by<Measure>,
                                  std::is_invocable_v<decltype(Measure), const CellEvidence&, const CellEvidence*>};

constexpr Metric over_steps(Metric metric) {
  metric.is_of_steps = true;
  return metric;
}

// Values that can be measured at all, where they are not those from 0 on.
constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr Metric between(double least, double most, Metric metric) {
  metric.info.least = least;
  metric.info.most = most;
  return metric;
}

constexpr Metric of_phases(Metric metric) {
  metric.has_phases = true;
  return metric;
}

constexpr Metric of_steps(const MetricInfo& info, Metric::Function function) {
  return over_steps({info, function, kPaired});
}

constexpr Metric of_all_steps(const MetricInfo& info, Metric::Function function) {
  Metric metric = of_steps(info, function);
  metric.counts_disturbed = true;
  return metric;
}

// clang-format off
constexpr Metric kMetrics[] = {
    // name, unit, better, dimension, what it says; how it is measured; how attempts become one value
    {{"numerics.repeat_mismatches",    "count", kLower,  numerics,   "steps whose digests differ between fresh processes of one stack"},       kBy<&repeat_mismatches>, kWorst},
    {{"numerics.reference_mismatches", "count", kLower,  numerics,   "steps whose digests differ from the reference's"},                       kBy<&reference_mismatches>, kWorst, Against::reference, true},
    between(0, 1, {{"numerics.beyond_rounding", "count", kLower, numerics, "1 if the difference from the reference is another computation or a defect"}, kBy<&beyond_rounding>, kWorst, Against::reference}),
    {{"numerics.host_mismatches",      "count", kLower,  numerics,   "steps whose digests differ from the same cell's on another host"},       kBy<&host_mismatches>, kWorst, Against::other_host, true},
    {{"numerics.rank_mismatches",      "count", kLower,  numerics,   "steps after which the ranks of a training hold different bits"},         kBy<&differing_ranks_of_training>, kWorst},
    {{"numerics.layout_mismatches",    "count", kLower,  numerics,   "steps of several ranks, of several replicas or with offload, with other bits than one rank that does their micro-batches"}, kBy<&differing_from_one_rank>, kWorst, Against::one_rank},
    {{"numerics.replica_mismatches",   "count", kLower,  numerics,   "steps that the replicas of one process begin, or a state that they end in, with other weights than replica 0"}, kBy<&differing_replicas>, kWorst},
    {{"numerics.resume_mismatches",    "count", kLower,  numerics,   "steps and states that differ once a training was stopped and resumed in another process"}, kBy<&differing_after_resuming>, kWorst},
    {{"numerics.by_construction_mismatches", "count", kLower, numerics, "inputs and initial weights whose digests differ between devices, stacks or processes"}, kBy<&by_construction_mismatches>, kWorst, Against::construction},
    {{"numerics.first_gradient_rel",   "rel",   kLower,  numerics,   "relative L2 distance of the first step's gradients to the reference's"}, kBy<&first_gradient_rel>, kWorst, Against::reference},
    {{"numerics.first_gradient_tensor_rel", "rel", kLower, numerics, "largest relative L2 distance of one parameter's gradient in the first step to the reference's"}, kBy<&first_gradient_tensor_rel>, kWorst, Against::reference},
    {{"numerics.cpu_first_step_rel",   "rel",   kLower,  numerics,   "larger relative distance of the first step's loss and of its gradients to the same training's on the CPU"}, kBy<&first_step_to_cpu_rel>, kWorst, Against::on_cpu},
    {{"numerics.loss_rel",             "rel",   kLower,  numerics,   "largest relative loss difference to the reference over all steps"},      kBy<&loss_rel>, kWorst, Against::reference},
    between(-kAny, kAny, {{"numerics.final_loss",           "loss",  kLower,  numerics,   "loss of the last step"},                                                 kBy<&final_loss>, kWorst}),
    between(-kAny, kAny, {{"numerics.end_loss", "loss",   kLower,  numerics,   "mean loss of the last tenth of the steps, at least five"}, kBy<&end_loss>, kWorst}),
    between(-kAny, 1, {{"numerics.loss_fall_rel", "rel", kHigher, numerics, "share of the first tenth's loss that is gone in the last tenth"}, kBy<&loss_fall_rel>, kWorst}),
    {{kWeightChange, "rel", kLower,      numerics,   "L2 distance of the trained weights from their initial values, as a share of their norm"}, kBy<&weight_change_rel>, kWorst},
    {{"numerics.alike_seeds",          "count", kLower,  numerics,   "other seeds that train the same work, or the same bits"},                kBy<&alike_seeds>, kWorst, Against::seeds},
    {{"numerics.seed_spread_rel",      "rel",   kLower,  numerics,   "from the least to the largest end loss of all seeds, as a share of their mean"}, kBy<&seed_spread_rel>, kWorst, Against::seeds},
    between(0, 1, {{"numerics.skipped_updates", "rel", kLower, numerics, "share of the steps whose update a dynamic loss scale skipped"}, kBy<&skipped_updates>, kWorst}),
    {{"numerics.changed_calls",        "count", kLower,  numerics,   "operator calls whose bits are not the reference's"},                     kBy<&changed_calls>, kWorst, Against::reference},
    {{"numerics.broken_calls",         "count", kLower,  numerics,   "operator calls that are neither equal to the reference's nor rounding"}, kBy<&broken_calls>, kWorst, Against::reference},
    of_phases(of_steps({"throughput.step_time", "ns", kLower, throughput, "median time of a training step after warm-up"},                     kBy<&median_step_time_ns>)),
    of_all_steps({"throughput.mean_step_time", "ns", kLower, throughput, "mean time of all steps of a training, warm-up and stalls included"},   kBy<&mean_step_time_ns>),
    of_all_steps({"throughput.step_time_p99", "ns", kLower, throughput, "99th percentile of the time of a training step after warm-up; of fewer than 100 steps the slowest"}, kBy<&step_time_p99_ns>),
    of_all_steps({"throughput.slowest_steps_time", "ns", kLower, throughput, "mean time of the slowest hundredth of the steps after warm-up, at least of one"}, kBy<&slowest_steps_time_ns>),
    of_all_steps({"throughput.slowest_quarter_step_time", "ns", kLower, throughput, "median time of a step in the slowest quarter of the training after warm-up"}, kBy<&slowest_quarter_step_time_ns>),
    of_all_steps({"throughput.samples", "1/s",  kHigher, throughput, "training samples a second over the time of all steps, warm-up and stalls included"}, kBy<&samples_per_s>),
    {{"throughput.strong_scaling_efficiency", "rel", kHigher, throughput, "speed of several ranks as a share of as many times one rank's that does all their micro-batches"}, kBy<&strong_scaling_efficiency>, kPaired, Against::one_rank},
    {{"throughput.weak_scaling_efficiency", "rel", kHigher, throughput, "step time of one rank alone as a share of that of several ranks which each do as much as it does"}, kBy<&weak_scaling_efficiency>, kPaired, Against::one_share},
    {{"throughput.start_to_first_step","ns",    kLower,  throughput, "process start to the end of the first step"},                            kBy<&start_to_first_step_ns>, kPaired},
    {{"throughput.time_outside_steps", "ns",    kLower,  throughput, "time of a process after its first step that is within no step: between steps, and from the last one to its end"}, kBy<&time_outside_steps_ns>, kPaired},
    over_steps({{"throughput.gemm_peak_share", "rel", kHigher, throughput, "floating-point operations a second of the median step as a share of the fastest matrix product of the same process"}, kBy<&gemm_peak_share>, kPaired}),
    over_steps({{"throughput.mfu", "rel", kHigher, throughput, "floating-point operations a second of the median step as a share of the GPU's dense peak by its data sheet"}, kBy<&model_flop_utilisation>, kPaired}),
    between(0, 1, of_steps({"data.wait_share",       "rel",   kLower,  throughput, "share of the time of all steps after warm-up in which there were no samples to compute with"}, kBy<&data_wait_share>)),
    {{"memory.peak_rss",               "bytes", kLower,  memory,     "largest resident set of the worker"},                                    kBy<&peak_rss_bytes>, kWorst},
    between(-kAny, kAny, {{"memory.rss_growth",             "bytes", kLower,  memory,     "growth of the resident set over the second half of the run"},            kBy<&rss_growth_bytes>, kWorst}),
    {{"memory.peak_anonymous",         "bytes", kLower,  memory,     "largest resident set of the worker without mapped files"},               kBy<&peak_anonymous_bytes>, kWorst},
    {{"memory.peak_anonymous_share",   "rel",   kLower,  memory,     "largest resident set without mapped files as a share of the reference's"}, kBy<&peak_anonymous_share>, kWorst, Against::reference},
    between(-kAny, kAny, {{"memory.anonymous_growth",       "bytes", kLower,  memory,     "growth of the worker's memory without mapped files over the second half of the run"}, kBy<&anonymous_growth_bytes>, kWorst}),
    {{"memory.device_peak",            "bytes", kLower,  memory,     "largest sum of the device allocator's live blocks"},                     kBy<&device_peak_bytes>, kWorst},
    {{"memory.optimizer_state_share",  "rel",   kLower,  memory,     "optimizer state of the fullest rank times the number of ranks, as a share of one rank's"}, kBy<&optimizer_state_share>, kWorst, Against::one_rank},
    {{"memory.model_state_share",      "rel",   kLower,  memory,     "parameters, gradients and optimizer state of the fullest rank as a share of one rank's"}, kBy<&model_state_share>, kWorst, Against::one_rank},
    {{"memory.model_state_bound_share", "rel",  kLower,  memory,     "model state of the fullest rank, device and host, as a share of what zero_stage and offload declare"}, kBy<&model_state_bound_share>, kWorst, Against::one_rank},
    {{"memory.device_state_bound_share", "rel", kLower,  memory,     "the same of model state on the training's device, where offload leaves no optimizer state"}, kBy<&device_state_bound_share>, kWorst, Against::one_rank},
    between(0, 1, {{"device.utilisation",       "rel",     kHigher, throughput, "median share of the time in which the GPU's SMs computed while steps were timed"}, kBy<&utilisation>, kPaired}),
    {{"device.step_energy",       "J",       kLower,  throughput, "energy that all GPUs of a training drew for a step, by their own counters"}, kBy<&step_energy_j>, kPaired},
    // Of probes: those measurements that `of` names, among the operations of this unit; how a cell's attempts become one.
    {{"device.wrong_results",     "count",   kLower,  numerics,   "measurements of a probe whose result was wrong", "any"}, kBy<&wrong_results>, kWorst},
    {{"numerics.forward_mismatches",   "count", kLower,  numerics,   "forward passes of the probe `package` whose bits differ between fresh processes of one stack"}, kBy<&forward_mismatches>, kWorst},
    {{"numerics.package_mismatches", "count", kLower, numerics,  "elements of an AOTInductor package's result that have other bits than eager's", "count"}, kBy<&elements_apart>, kWorst},
    {{"device.stress_mismatches", "count",   kLower,  numerics,   "repetitions whose result was not that of the first, bit for bit", "any"}, kBy<&differing_results>, kWorst},
    {{"device.changed_algorithms",     "count", kLower,  numerics,   "operations for which the library took another algorithm than the reference's"}, kBy<&changed_algorithms>, kWorst, Against::reference},
    {{"device.bandwidth",         "GB/s",    kHigher, memory,     "best bandwidth of an operation over its sizes", "GB/s"}, kBy<&best_bandwidth_gb_per_s>, kPaired},
    {{"device.bandwidth_share",   "rel",     kHigher, memory,     "best bandwidth of an operation as a share of `to`", "GB/s", true}, kBy<&best_bandwidth_share>, kPaired},
    {{"device.flop_rate",         "TFLOP/s", kHigher, throughput, "best rate of an operation over its shapes", "TFLOP/s"}, kBy<&best_flop_rate_tflop_per_s>, kPaired},
    {{"device.flop_share",        "rel",     kHigher, throughput, "best rate of an operation as a share of `to`", "TFLOP/s", true}, kBy<&best_flop_share>, kPaired},
    {{"device.latency",           "ns",      kLower,  throughput, "least time of an operation over its sizes", "ns"}, kBy<&best_latency_ns>, kPaired},
    {{"device.capacity",          "bytes",   kHigher, memory,     "memory that was filled, read back and right", "bytes"}, kBy<&verified_bytes>, kWorst},
    // Of collectives: over all ranks of an attempt; of several sizes or repeats the worst one counts, never their mean.
    {{"comm.wrong_results",       "count",   kLower,  communication, "collectives of which a timed call had a wrong result on some rank", "ns"}, kBy<&wrong_collectives>, kWorst},
    {{"comm.call_mismatches",     "count",   kLower,  communication, "repeated sums whose bits are not those of the first call", "ns"}, kBy<&differing_calls>, kWorst},
    {{"comm.rank_mismatches",     "count",   kLower,  communication, "sums of which the ranks hold different bits", "ns"}, kBy<&differing_ranks>, kWorst},
    {{"comm.repeat_mismatches",        "count", kLower,  communication, "sums whose bits differ between fresh processes: another order of summation"}, kBy<&changed_orders_between_repeats>, kWorst},
    {{"comm.reference_mismatches",     "count", kLower,  communication, "sums whose bits differ from the reference's: another order of summation"}, kBy<&changed_orders_to_reference>, kWorst, Against::reference},
    {{"comm.latency_ratio",            "rel",   kLower,  communication, "largest ratio to the reference of a collective's time, of all operations and sizes; the fastest tenth of calls counts"}, kBy<&latency_ratio>, kWorst, Against::reference},
    {{"comm.latency_p50",         "ns",      kLower,  communication, "median time of a call on the slowest rank", "ns"}, kBy<&latency_p50_ns>, kWorst},
    {{"comm.latency_p99",         "ns",      kLower,  communication, "99th percentile of the time of a call on the slowest rank", "ns"}, kBy<&latency_p99_ns>, kWorst},
    {{"comm.algorithm_bandwidth", "GB/s",    kHigher, communication, "bytes of a call by its median time, as nccl-tests has it", "ns"}, kBy<&algorithm_bandwidth_gb_per_s>, kWorst},
    {{"comm.bus_bandwidth",       "GB/s",    kHigher, communication, "algorithm bandwidth times the collective's factor, as nccl-tests has it", "ns"}, kBy<&bus_bandwidth_gb_per_s>, kWorst},
    {{"comm.bus_bandwidth_share", "rel",     kHigher, communication, "bus bandwidth between GPUs as a share of the slowest link between them, one direction", "ns"}, kBy<&bus_bandwidth_share>, kWorst},
    between(0, 1, of_steps({"comm.step_share",       "rel",   kLower,  communication, "share of a training's step time in which the gradients of its micro-batches become one"}, kBy<&communication_share>)),
    between(0, 1, {{"comm.overlap_share",       "rel",     kHigher, communication, "with overlap=on, share of the time of exchanging gradients that the backward pass hides"}, kBy<&overlap_share>, kPaired}),
    {{"comm.startup_time",        "ns",      kLower,  communication, "time of a call without bytes, by a fit over an operation's sizes", "ns"}, kBy<&startup_ns>, kWorst},
    {{"comm.fitted_bandwidth",    "GB/s",    kHigher, communication, "bandwidth of an operation by that fit", "ns"}, kBy<&fitted_bandwidth_gb_per_s>, kWorst},
};
// clang-format on

Compared compared_already(const Metric& metric) {
  if (!metric.function.of_cell) return Compared::not_yet;
  return metric.against == Against::reference ? Compared::with_reference : Compared::with_others;
}

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

const Metric* find_metric(std::string_view name) {
  const auto found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                  [&](const Metric& metric) { return metric.info.name == name; });
  return found == std::end(kMetrics) ? nullptr : found;
}

std::span<const MetricInfo> metric_infos() {
  static const std::vector<MetricInfo> kInfos = [] {
    std::vector<MetricInfo> infos;
    for (const Metric& metric : kMetrics) {
      infos.push_back(metric.info);
      infos.back().compared = compared_already(metric);
    }
    return infos;
  }();
  return kInfos;
}

}  // namespace reprobench
