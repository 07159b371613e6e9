// The probe of collectives. Calls are timed one by one in blocks. Before a block every rank prepares numbers of its own
// for each call, and all ranks meet. After it every result is compared with the expected one, element by element. So
// each time that counts is the time of a right result, and no checking falls between calls. Then numbers whose sum
// depends on the order of summation are added again and again: an order that changes between calls, ranks, processes or
// stacks shows in bits.
//
// Tensors lie where the group's do. A call on a device is timed by the device's clock, a call on the host by the
// host's. Either time is that of one call alone, which has ended before the next begins.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>
#include <utility>

#include <ATen/core/Tensor.h>
#include <malloc.h>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/collective.hpp"
#include "matrix/contract/device/nccl_log.hpp"
#include "suites/worker/probes/collective_case.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/probes/size_text.hpp"
#include "suites/worker/ranks/crafted_values.hpp"
#include "suites/worker/ranks/exchange.hpp"
#include "suites/worker/ranks/late_rank.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kMostBlockBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostCallsPerBlock = 20;
constexpr std::int64_t kOrderedCalls = 10;
constexpr std::int64_t kOrderedCallsOfLarge = 3;
constexpr std::int64_t kLarge = std::int64_t{64} << 20;
constexpr double kLargestShareOfMemory = 0.8;
constexpr std::int64_t kWorthAskingAgain = std::int64_t{1} << 30;
constexpr std::chrono::milliseconds kPlantedDelay{100};
constexpr double kLatenessWorthSaying_ns = 1e6;

// Whether all that this rank is connected by goes from GPU to GPU, as far as its library says.
bool reaches_others_directly(const std::string& log) {
  const std::vector<UsedTransport> used = transports_in(log);
  return !used.empty() && std::ranges::all_of(used, [](const UsedTransport& one) {
    return one.transport == "peer" || one.transport == "nvls";
  });
}

// Why an algorithm is not known: of all libraries NCCL alone keeps a log of what it chooses.
std::string untold_by(std::string_view library) {
  if (library == "nccl") return "NCCL's log tells of no one algorithm for these calls";
  return std::string(library) + " tells nothing of how it does a collective";
}

// How a row of contract/collective.cpp is done: into `output`, which is `input` itself where it is replaced.
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

// One call with its numbers, ready to be made.
struct PreparedCall {
  CraftedCall crafted;
  at::Tensor input;
  at::Tensor output;
  std::string_view dtype;  // as the ranks tell each other
  std::int64_t bytes = 0;
};

class MeasuredCollective {
 public:
  MeasuredCollective(ProbeRun& run, RankGroup& ranks, const Collective& collective, const CollectiveCase& one)
      : run_(run), ranks_(ranks), collective_(collective), case_(one) {
    Labels labels = {{"dtype", std::string(one.dtype)},
                     {"size", size_text(one.size_bytes)},
                     {"library", std::string(ranks.library())}};
    if (one.names_placement) labels["placement"] = to_string(one.placement);
    measurement_ = run.blank(std::string(collective.name), labels);
    const std::int64_t holders = collective.is_of_all_ranks ? ranks.size() : 1;
    own_elements_ = std::max<std::int64_t>(1, one.size_bytes / element_bytes(one.dtype) / holders);
    measurement_.bytes = own_elements_ * holders * element_bytes(one.dtype);
  }

  void run() {
    if (const std::string_view why = lacks(case_); !why.empty()) {
      measurement_.finding = why;
    } else if (std::string too_much = lacks_memory(); !too_much.empty()) {
      measurement_.status = MeasurementStatus::left_out;
      measurement_.finding = std::move(too_much);
    } else {
      measure();
    }
    run_.add(std::move(measurement_));
  }

 private:
  // What ranks have left together is told by the one with least, so that all refuse the same sizes; on the CPU they
  // share a host's memory, a GPU's is its rank's alone. Others take memory while a long sweep runs, so it is asked
  // anew for every large size.
  std::string lacks_memory() {
    const std::int64_t need_bytes = needed_bytes(case_, ranks_.size());
    if (need_bytes < kWorthAskingAgain) return "";
    malloc_trim(0);    // what smaller sizes left in the heap, in holes that a larger one does not fit into
    ranks_.barrier();  // until all have, what is left looks less than it is
    const auto said = said_by_all({run_.compute().free_bytes()}, ranks_);
    const std::int64_t least_bytes = std::ranges::min_element(said)->front();
    const std::int64_t left_bytes = run_.on_cpu() ? least_bytes : least_bytes * ranks_.size();
    if (static_cast<double>(need_bytes) <= kLargestShareOfMemory * static_cast<double>(left_bytes)) return "";
    return "not done: its ranks would need about " + std::to_string(need_bytes) + " bytes together, and of the " +
           std::to_string(left_bytes) + " that they had left four fifths are less";
  }

  void make_first() {
    ranks_.take_log();  // what came before
    PreparedCall first = prepared(0);
    make(first);
    measurement_.algorithm = nccl_algorithm(ranks_.take_log(), collective_.name);
    if (measurement_.algorithm.empty()) measurement_.algorithm_unknown = untold_by(ranks_.library());
  }

  void measure() {
    try {
      values_.emplace(case_.dtype, ranks_.size(), largest_tensor(crafted(0)), ranks_.where());
      make_first();
      if (reaches_others_directly(ranks_.log())) measurement_.link_gb_per_s = run_.link_gb_per_s();
      time_calls();
      if (collective_.adds_up) add_in_order();
    } catch (const UnsupportedCollective& refusal) {
      measurement_.finding = refusal.what();
    }
  }

  CraftedCall crafted(std::int64_t number) const {
    return {collective_.name, ranks_.size(), own_elements_, number, case_.dtype};
  }

  PreparedCall prepared(std::int64_t number) const {
    const CraftedCall one = crafted(number);
    return placed(one, values_->input(one, ranks_.rank()), case_.placement);
  }

  // The call with that input, where the placement wants it. In place a rank's own part lies in the whole.
  PreparedCall placed(const CraftedCall& crafted, at::Tensor input, Placement placement) const {
    PreparedCall call{crafted, std::move(input), {}, case_.dtype, measurement_.bytes};
    const std::int64_t own = crafted.own_elements;
    const bool is_whole = collective_.name == "all_gather" || collective_.name == "all_to_all";
    if (placement == Placement::out_of_place) {
      call.output = empty_values(case_.dtype, is_whole ? own * ranks_.size() : own, ranks_.where());
    } else if (collective_.name == "all_gather") {
      call.output = empty_values(case_.dtype, own * ranks_.size(), ranks_.where());
      const at::Tensor part = call.output.narrow(0, own * ranks_.rank(), own);
      call.input = part.copy_(call.input);
    } else {
      call.output = collective_.name == "reduce_scatter" ? call.input.narrow(0, own * ranks_.rank(), own) : call.input;
    }
    return call;
  }

  void make(PreparedCall& call) {
    ranks_.call(
        collective_.name, call.bytes,
        [&](ProcessGroup& group) { carry_out(collective_.name, group, call.input, call.output); }, call.dtype);
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
    if (!std::exchange(has_come_before_, false)) ranks_.barrier();
    make(untimed);  // after it all ranks have left the barrier
    for (PreparedCall& call : calls) {
      const auto began = std::chrono::steady_clock::now();
      const bool is_left_out = upset(call);
      if (!is_left_out) make(call);
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
      const auto on_device = is_left_out ? std::nullopt : ranks_.device_time_ns();
      // A device's clock may be too coarse for its smallest calls.
      measurement_.samples.push_back(on_device ? std::max(1.0, static_cast<double>(*on_device)) : took.count());
      entered_ns.push_back(std::chrono::duration<double, std::nano>(entered_.time_since_epoch()).count());
    }
    for (PreparedCall& call : calls) verify(call);
  }

  bool is_planted(const char* kind, std::int64_t number) const {
    const Injection* fault = run_.planted(kind, measurement_.operation);
    return fault != nullptr && fault->step == number;
  }

  // The faults of this call; true if it is not to be made at all. Notes when the call begins.
  bool upset(PreparedCall& call) {
    const std::int64_t number = call.crafted.number;
    if (is_planted("rank_killed", number)) std::raise(SIGKILL);
    if (is_planted("rank_stopped", number)) std::raise(SIGSTOP);
    if (run_.planted("operation_slow", measurement_.operation) != nullptr) std::this_thread::sleep_for(kPlantedDelay);
    if (is_planted("collective_shape", number)) change_shape(call);
    if (is_planted("collective_dtype", number)) change_dtype(call);
    if (is_planted("collective_order", number)) {
      ranks_.barrier();  // which the others come to after this block
      has_come_before_ = true;
    }
    entered_ = std::chrono::steady_clock::now();
    return is_planted("collective_skipped", number);
  }

  // Twice as many elements, as of a rank that was given another batch.
  void change_shape(PreparedCall& call) const {
    CraftedCall crafted = call.crafted;
    crafted.own_elements *= 2;
    const CraftedValues longer(crafted.dtype, crafted.ranks, largest_tensor(crafted), ranks_.where());
    call = placed(crafted, longer.input(crafted, ranks_.rank()), case_.placement);
    call.bytes *= 2;
  }

  // As many bytes of another type, which Gloo cannot tell.
  static void change_dtype(PreparedCall& call) {
    call.input = call.input.view(call.input.element_size() == 4 ? at::kInt : at::kByte);
    call.output = call.output.view(call.output.element_size() == 4 ? at::kInt : at::kByte);
    call.dtype = "another type";
  }

  void verify(PreparedCall& call) {
    if (is_planted("result_wrong", call.crafted.number)) {
      const std::int64_t element = run_.planted("result_wrong", measurement_.operation)->element;
      call.output.narrow(0, element % call.output.numel(), 1).add_(1'000'000);
    }
    const at::Tensor expected = values_->output(call.crafted, ranks_.rank());
    if (!expected.defined() || measurement_.status == MeasurementStatus::wrong) return;
    const std::string wrong = wrong_elements(call.output, expected);
    if (wrong.empty()) return;
    measurement_.status = MeasurementStatus::wrong;
    measurement_.finding = "in call " + std::to_string(call.crafted.number) + " " + wrong;
  }

  // Which rank the others wait for. Ranks share this host and so its monotonic clock.
  std::string lateness(const std::vector<double>& entered_ns) {
    const LateRank late = latest_rank(ranks_.all_numbers(entered_ns), ranks_.size());
    if (late.median_ns < kLatenessWorthSaying_ns) return "";
    return "rank " + std::to_string(late.rank) + " comes last, " + std::to_string(std::llround(late.median_ns / 1e3)) +
           " us after the first, median of " + std::to_string(entered_ns.size()) + " calls";
  }

  // The same numbers again and again. What a rank holds that gets no result is not looked at.
  void add_in_order() {
    const std::int64_t elements = collective_.name == "reduce_scatter" ? own_elements_ * ranks_.size() : own_elements_;
    const at::Tensor values = empty_values(case_.dtype, elements, ranks_.where())
                                  .copy_(order_sensitive_values(run_.seed(), ranks_.rank(), elements));
    const bool gets_result = collective_.name != "reduce" || ranks_.rank() == 0;
    const CraftedCall crafted{collective_.name, ranks_.size(), own_elements_, 0, case_.dtype};
    at::Tensor first;
    const std::int64_t calls = measurement_.bytes > kLarge ? kOrderedCallsOfLarge : kOrderedCalls;
    for (std::int64_t number = 1; number <= calls; ++number) {
      PreparedCall call = placed(crafted, values.clone(), case_.placement);
      make(call);
      if (is_planted("result_bit", number)) flip_bit(call.output);
      if (number == 1) {
        first = call.output;
        continue;
      }
      ++measurement_.results_compared;
      if (gets_result && !has_same_bits(call.output, first)) ++measurement_.results_differing;
    }
    if (gets_result) measurement_.digest = to_hex(digest_of(first.cpu()));
  }

  void flip_bit(at::Tensor& result) const {
    const std::int64_t element = run_.planted("result_bit", measurement_.operation)->element % result.numel();
    at::Tensor bytes = result.view(at::kByte);
    bytes.narrow(0, element * static_cast<std::int64_t>(result.element_size()), 1).bitwise_xor_(1);
  }

  ProbeRun& run_;
  RankGroup& ranks_;
  const Collective& collective_;
  CollectiveCase case_;
  ProbeMeasurement measurement_;
  std::int64_t own_elements_ = 1;
  std::optional<CraftedValues> values_;
  std::chrono::steady_clock::time_point entered_;
  bool has_come_before_ = false;  // to the next barrier, by a fault
};

void measure_barrier(ProbeRun& run, RankGroup& ranks) {
  ProbeMeasurement measurement = run.blank("barrier", {{"library", std::string(ranks.library())}});
  ranks.barrier();
  measurement.algorithm_unknown = untold_by(ranks.library());
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

void measure_collective(ProbeRun& run, RankGroup& ranks, const CollectiveCase& one) {
  MeasuredCollective(run, ranks, *find_collective(one.collective), one).run();
}

void measure_collectives(ProbeRun& run, RankGroup& ranks) {
  for (const Collective& collective : collectives()) {
    for (const CollectiveCase& one : collective_cases(collective.name, run.request().workload.preset, !run.on_cpu())) {
      measure_collective(run, ranks, one);
    }
  }
  measure_barrier(run, ranks);
  ranks.take_log();
  if (ranks.library() == "nccl") run.note(nccl_facts_in(ranks.log()));
}

void probe_collectives(ProbeRun& run) {
  RankGroup ranks(run.request(), run.folder());
  measure_collectives(run, ranks);
}

}  // namespace reprobench
