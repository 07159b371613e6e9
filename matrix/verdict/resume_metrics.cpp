#include "matrix/verdict/resume_metrics.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/evidence/trace_chain.hpp"
#include "matrix/verdict/divergence.hpp"

namespace reprobench {
namespace {

constexpr const char* kAgainstWhole = "the process that was never stopped";

// What the three processes of one rank left.
struct Stretches {
  const RankRecord& whole;
  const RankRecord& stopped;
  const RankRecord& resumed;

  std::int64_t stopped_after() const { return stopped.trace->steps.back().step; }
};

std::string incomplete_trace(const char* of, const Trace& trace, std::int64_t first, std::int64_t last) {
  if (trace.header.level != TraceLevel::tensor) return "digests of every tensor are needed: `trace: tensor`";
  const auto steps = static_cast<std::size_t>(last - first + 1);
  const bool is_whole = trace.steps.size() == steps && trace.tensors.size() == steps + 1 && steps > 0 &&
                        trace.steps.front().step == first && trace.steps.back().step == last &&
                        trace.tensors.back().is_final;
  return is_whole ? "" : fmt::format("the {} process has not every tensor of the steps {} to {}", of, first, last);
}

// What keeps `resumed` from being proof that its process went on from what `stopped` wrote; empty: nothing.
std::string unproven(const Stretches& of) {
  const std::int64_t after = of.stopped_after();
  const auto& resumed = of.resumed.trace->header.resumed;
  if (of.whole.trace->header.resumed) return "the process that is to be whole began from a checkpoint";
  if (of.stopped.trace->header.resumed) return "the process that was stopped began from a checkpoint itself";
  if (!resumed) return "the resumed process does not say that it went on from a checkpoint";
  if (resumed->after_step != after) {
    return fmt::format("the resumed process went on after step {}, the other was stopped after {}", resumed->after_step,
                       after);
  }
  const auto& written = of.stopped.result->checkpoints;
  if (!written || written->written.empty() || written->written.back().step != after) {
    return fmt::format("the stopped process wrote no checkpoint of step {}", after);
  }
  const WrittenCheckpoint& file = written->written.back();
  if (resumed->checksum != file.checksum || resumed->file != file.file ||
      resumed->written_by != of.stopped.trace->header.nonce) {
    return fmt::format("the resumed process went on from {} with checksum {}, not from the {} with {} that was written",
                       resumed->file, resumed->checksum, file.file, file.checksum);
  }
  if (resumed->chain != of.stopped.trace->steps.back().chain) {
    return "the resumed process begins with another chain than the stopped one ended with";
  }
  for (const RankRecord* process : {&of.stopped, &of.resumed}) {
    if (process->trace->header.workload_digest != of.whole.trace->header.workload_digest) {
      return "the processes did not run the same workload: their digests differ";
    }
  }
  return "";
}

void append_role(const TensorsRecord& from, TensorRole role, TensorsRecord& to) {
  std::ranges::copy_if(from.tensors, std::back_inserter(to.tensors),
                       [&](const TensorRecord& tensor) { return tensor.role == role; });
}

// The steps `first` to `last` as a process of its own would leave them: its final state is what the next step began
// with, and what the optimizer and the buffers were at the end of its last one.
Trace stretch_of(const Trace& whole, std::int64_t first, std::int64_t last) {
  Trace part;
  part.header = whole.header;
  const auto begin = static_cast<std::size_t>(first - 1);
  const auto end = static_cast<std::size_t>(last);
  for (std::size_t i = begin; i < end; ++i) {
    part.steps.push_back(whole.steps[i]);
    part.tensors.push_back(whole.tensors[i]);
  }
  if (end == whole.steps.size()) {
    part.tensors.push_back(whole.tensors.back());
    return part;
  }
  TensorsRecord state{last, true, {}};
  append_role(whole.tensors[end], TensorRole::parameter, state);
  append_role(whole.tensors[end - 1], TensorRole::optimizer_state, state);
  append_role(whole.tensors[end - 1], TensorRole::buffer, state);
  append_role(whole.tensors[end - 1], TensorRole::scaler_state, state);
  part.tensors.push_back(std::move(state));
  return part;
}

struct Differing {
  std::int64_t steps = 0;
  std::int64_t steps_differing = 0;
  bool stopped_state_differs = false;
  bool loaded_state_differs = false;
  bool final_state_differs = false;
  std::optional<Divergence> first;

  double count() const {
    return static_cast<double>(steps_differing + stopped_state_differs + loaded_state_differs + final_state_differs);
  }
};

Differing compare_stretches(const Stretches& of) {
  const std::int64_t after = of.stopped_after();
  const Trace& whole = *of.whole.trace;
  const TraceComparison before = compare_traces(*of.stopped.trace, stretch_of(whole, 1, after));
  const TraceComparison behind =
      compare_traces(*of.resumed.trace, stretch_of(whole, after + 1, whole.steps.back().step));
  Differing differing{before.steps_compared + behind.steps_compared,
                      before.steps_differing + behind.steps_differing,
                      before.final_state_differs,
                      false,
                      behind.final_state_differs,
                      before.first};
  const ResumedFrom& resumed = *of.resumed.trace->header.resumed;
  const std::string stopped_in = to_hex(root_of_tensors(of.stopped.trace->tensors.back()));
  differing.loaded_state_differs = resumed.state != stopped_in;
  if (!differing.first) differing.first = behind.first;
  if (!differing.first && differing.loaded_state_differs) {
    differing.first = Divergence{after, "", "loaded state", resumed.state, stopped_in};
  }
  return differing;
}

std::string text_of(const Differing& differing, std::int64_t after) {
  const std::int64_t rest = differing.steps - after;
  if (differing.count() == 0) {
    return fmt::format("{} + {} steps in two processes have the bits of {} in one", after, rest, differing.steps);
  }
  std::string text = fmt::format("of {} + {} steps in two processes {} have other bits than in one", after, rest,
                                 differing.steps_differing);
  if (differing.stopped_state_differs) text += ", and so has the state that was stopped in";
  if (differing.loaded_state_differs) text += "; what was loaded is not the state that was stopped in";
  if (differing.final_state_differs) text += "; the last state differs";
  return text;
}

std::string cannot_compare(const Stretches& of) {
  if (of.stopped.trace->steps.empty()) return "the stopped process did no step";
  const std::int64_t after = of.stopped_after();
  const std::int64_t last = of.whole.trace->steps.empty() ? 0 : of.whole.trace->steps.back().step;
  if (after >= last) return "no process was stopped before the last step";
  for (const std::string& gap :
       {incomplete_trace("whole", *of.whole.trace, 1, last), incomplete_trace("stopped", *of.stopped.trace, 1, after),
        incomplete_trace("resumed", *of.resumed.trace, after + 1, last), unproven(of)}) {
    if (!gap.empty()) return gap;
  }
  return "";
}

}  // namespace

Measurement differing_after_resuming(const CellEvidence& cell, const CellEvidence*) {
  Measurement worst;
  for (const AttemptRecord& attempt : cell.repeats) {
    const auto cannot = [&](const std::string& why) {
      return no_value(fmt::format("repeat {}: {}", attempt.repeat, why));
    };
    const bool has_legs =
        attempt.legs.size() == 2 && attempt.legs[0].leg == Leg::stopped && attempt.legs[1].leg == Leg::resumed;
    if (!has_legs) return cannot("nothing was stopped and gone on with: its workload has no `resume_after`");
    for (std::size_t i = 0; i < attempt.ranks.size(); ++i) {
      const Stretches of{attempt.ranks[i], attempt.legs[0].ranks.at(i), attempt.legs[1].ranks.at(i)};
      if (const std::string why = cannot_compare(of); !why.empty()) return cannot(why);
      const Differing differing = compare_stretches(of);
      if (worst.value && differing.count() <= *worst.value) continue;
      worst = {differing.count(), std::nullopt, ""};
      worst.repeat = attempt.repeat;
      worst.statement = fmt::format("in repeat {} {}", attempt.repeat, text_of(differing, of.stopped_after()));
      if (differing.first) worst.divergence = CheckDivergence{*differing.first, kAgainstWhole};
    }
  }
  return worst;
}

}  // namespace reprobench
