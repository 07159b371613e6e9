// What ranks do together. Calls are timed one by one in blocks: before a block every rank prepares numbers of its own
// for each call and all meet, after it every result is held against what it must be, element by element. So each time
// that counts is the time of a right result, and no checking falls between calls. Then numbers whose sum depends on the
// order of summation are added again and again: an order that changes between calls, ranks, processes or stacks shows
// in bits.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/collective.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/probes/size_text.hpp"
#include "suites/worker/ranks/crafted_values.hpp"
#include "suites/worker/ranks/late_rank.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/tensor_record.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kElementBytes = 4;
constexpr std::int64_t kMostBlockBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostCallsPerBlock = 20;
constexpr std::int64_t kOrderedCalls = 10;
constexpr std::chrono::milliseconds kPlantedDelay{100};
constexpr double kLatenessWorthSaying_ns = 1e6;

// Powers of two apart, as nccl-tests takes them; `base` in a few seconds.
std::vector<std::int64_t> sizes_of(const ProbeRun& run) {
  if (run.request().workload.preset == "base") return {8, 4 << 10, 256 << 10, 1 << 20};
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 8; bytes <= std::int64_t{64} << 20; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

// How a row of contract/collective.cpp is done: into `output`, which is `input` itself where it is done in place.
void carry_out(std::string_view name, ProcessGroup& group, const at::Tensor& input, at::Tensor& output) {
  if (name == "all_reduce") return group.all_reduce(output);
  if (name == "reduce") return group.reduce(output, 0);
  if (name == "broadcast") return group.broadcast(output, 0);
  if (name == "all_gather") return group.all_gather(input, output);
  if (name == "reduce_scatter") return group.reduce_scatter(input, output);
  if (name == "all_to_all") return group.all_to_all(input, output);
  if (name == "send_recv") return group.shift(input, output);
  throw std::invalid_argument("no collective `" + std::string(name) + "`");
}

bool is_in_place(std::string_view name) { return name == "all_reduce" || name == "reduce" || name == "broadcast"; }

// One call with its numbers, ready to be made.
struct PreparedCall {
  CraftedCall crafted;
  at::Tensor input;
  at::Tensor output;
};

class MeasuredCollective {
 public:
  MeasuredCollective(ProbeRun& run, RankGroup& ranks, const Collective& collective, std::int64_t size_bytes)
      : run_(run),
        ranks_(ranks),
        collective_(collective),
        measurement_(run.blank(
            std::string(collective.name),
            {{"dtype", "fp32"}, {"size", size_text(size_bytes)}, {"library", std::string(ranks.library())}})) {
    const std::int64_t holders = collective.is_of_all_ranks ? ranks.size() : 1;
    own_elements_ = std::max<std::int64_t>(1, size_bytes / kElementBytes / holders);
    measurement_.bytes = own_elements_ * holders * kElementBytes;
  }

  void run() {
    try {
      PreparedCall first = prepared(0);
      make(first);
      time_calls();
      if (collective_.adds_up) add_in_order();
    } catch (const UnsupportedCollective& refusal) {
      measurement_.finding = refusal.what();
    }
    run_.add(std::move(measurement_));
  }

 private:
  PreparedCall prepared(std::int64_t number) const {
    PreparedCall call{{collective_.name, ranks_.size(), own_elements_, number}, {}, {}};
    call.input = crafted_input(call.crafted, ranks_.rank());
    if (is_in_place(collective_.name)) {
      call.output = call.input;
    } else {
      const bool is_whole = collective_.name == "all_gather" || collective_.name == "all_to_all";
      call.output = at::empty({is_whole ? own_elements_ * ranks_.size() : own_elements_});
    }
    return call;
  }

  void make(PreparedCall& call) {
    ranks_.call(collective_.name, measurement_.bytes,
                [&](ProcessGroup& group) { carry_out(collective_.name, group, call.input, call.output); });
  }

  void time_calls() {
    const std::int64_t calls = run_.request().workload.samples;
    const auto per_block = std::clamp<std::int64_t>(kMostBlockBytes / measurement_.bytes, 1, kMostCallsPerBlock);
    std::vector<double> entered_ns;
    measurement_.status = MeasurementStatus::measured;
    measurement_.timed_from_ns = run_.now_ns();
    for (std::int64_t first = 1; first <= calls; first += per_block) {
      time_block(first, std::min(first + per_block - 1, calls), entered_ns);
      run_.progress(measurement_);
      if (take_stop_request()) throw RunFailure("interrupted", "asked to stop while timing " + measurement_.operation);
    }
    measurement_.timed_to_ns = run_.now_ns();
    const std::string late = lateness(entered_ns);  // a collective: of every rank, also of one whose results were wrong
    if (measurement_.status == MeasurementStatus::measured) {
      measurement_.finding = late;
      return;
    }
    measurement_.samples.clear();
    measurement_.timed_from_ns.reset();
    measurement_.timed_to_ns.reset();
  }

  void time_block(std::int64_t first, std::int64_t last, std::vector<double>& entered_ns) {
    std::vector<PreparedCall> calls;
    for (std::int64_t number = first; number <= last; ++number) calls.push_back(prepared(number));
    PreparedCall untimed = prepared(0);
    ranks_.barrier();
    make(untimed);  // after it all ranks have left the barrier
    for (PreparedCall& call : calls) {
      const auto began = std::chrono::steady_clock::now();
      if (!upset(call.crafted.number)) make(call);
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
      measurement_.samples.push_back(took.count());
      entered_ns.push_back(std::chrono::duration<double, std::nano>(entered_.time_since_epoch()).count());
    }
    for (PreparedCall& call : calls) verify(call);
  }

  bool is_planted(const char* kind, std::int64_t number) const {
    const Injection* fault = run_.planted(kind, measurement_.operation);
    return fault != nullptr && fault->step == number;
  }

  // The faults of this call; true if it is not to be made at all. Notes when the call begins.
  bool upset(std::int64_t number) {
    if (is_planted("rank_killed", number)) std::raise(SIGKILL);
    if (is_planted("rank_stopped", number)) std::raise(SIGSTOP);
    if (run_.planted("operation_slow", measurement_.operation) != nullptr) std::this_thread::sleep_for(kPlantedDelay);
    entered_ = std::chrono::steady_clock::now();
    return is_planted("collective_skipped", number);
  }

  void verify(PreparedCall& call) {
    if (is_planted("result_wrong", call.crafted.number)) {
      const std::int64_t element = run_.planted("result_wrong", measurement_.operation)->element;
      call.output.data_ptr<float>()[element % call.output.numel()] += 1'000'000;
    }
    const at::Tensor expected = crafted_output(call.crafted, ranks_.rank());
    if (!expected.defined() || measurement_.status == MeasurementStatus::wrong) return;
    const std::string wrong = wrong_elements(call.output, expected);
    if (wrong.empty()) return;
    measurement_.status = MeasurementStatus::wrong;
    measurement_.finding = "in call " + std::to_string(call.crafted.number) + " " + wrong;
  }

  // Which rank the others wait for. Ranks share this host and so its monotonic clock.
  std::string lateness(const std::vector<double>& entered_ns) {
    const auto calls = static_cast<std::int64_t>(entered_ns.size());
    at::Tensor own = at::empty({calls}, at::kDouble);
    std::copy(entered_ns.begin(), entered_ns.end(), own.data_ptr<double>());
    at::Tensor all = at::empty({calls * ranks_.size()}, at::kDouble);
    ranks_.call("all_gather", all.numel() * 8, [&](ProcessGroup& group) { group.all_gather(own, all); });
    const LateRank late = latest_rank({all.data_ptr<double>(), static_cast<std::size_t>(all.numel())}, ranks_.size());
    if (late.median_ns < kLatenessWorthSaying_ns) return "";
    return "rank " + std::to_string(late.rank) + " comes last, " + std::to_string(std::llround(late.median_ns / 1e3)) +
           " us after the first, median of " + std::to_string(calls) + " calls";
  }

  // The same numbers again and again. What a rank holds that gets no result is not looked at.
  void add_in_order() {
    const std::int64_t elements = collective_.name == "reduce_scatter" ? own_elements_ * ranks_.size() : own_elements_;
    const at::Tensor values = order_sensitive_values(run_.seed(), ranks_.rank(), elements);
    const bool gets_result = collective_.name != "reduce" || ranks_.rank() == 0;
    at::Tensor first;
    for (std::int64_t number = 1; number <= kOrderedCalls; ++number) {
      PreparedCall call = prepared(number);
      call.input = values.clone();
      if (is_in_place(collective_.name)) call.output = call.input;
      make(call);
      if (is_planted("result_bit", number)) flip_bit(call.output);
      if (number == 1) {
        first = call.output;
        continue;
      }
      ++measurement_.results_compared;
      if (gets_result && !at::equal(call.output.view(at::kInt), first.view(at::kInt))) ++measurement_.results_differing;
    }
    if (gets_result) measurement_.digest = to_hex(digest_of(first));
  }

  void flip_bit(at::Tensor& result) const {
    const std::int64_t element = run_.planted("result_bit", measurement_.operation)->element;
    result.view(at::kInt).data_ptr<std::int32_t>()[element % result.numel()] ^= 1;
  }

  ProbeRun& run_;
  RankGroup& ranks_;
  const Collective& collective_;
  ProbeMeasurement measurement_;
  std::int64_t own_elements_ = 1;
  std::chrono::steady_clock::time_point entered_;
};

void measure_barrier(ProbeRun& run, RankGroup& ranks) {
  ProbeMeasurement measurement = run.blank("barrier", {{"library", std::string(ranks.library())}});
  ranks.barrier();
  measurement.status = MeasurementStatus::measured;
  measurement.timed_from_ns = run.now_ns();
  for (std::int64_t sample = 0; sample < run.request().workload.samples; ++sample) {
    const auto began = std::chrono::steady_clock::now();
    ranks.barrier();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    measurement.samples.push_back(took.count());
  }
  measurement.timed_to_ns = run.now_ns();
  run.add(std::move(measurement));
}

}  // namespace

void probe_collectives(ProbeRun& run) {
  RankGroup ranks(run.request(), run.folder());
  for (const Collective& collective : collectives()) {
    for (const std::int64_t bytes : sizes_of(run)) {
      MeasuredCollective(run, ranks, collective, bytes).run();
    }
  }
  measure_barrier(run, ranks);
}

}  // namespace reprobench
