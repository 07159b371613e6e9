// For tests: trainings that were stopped and resumed, with traces made by hand.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/digest/digest.hpp"
#include "matrix/evidence/trace_chain.hpp"
#include "matrix/verdict/metrics/metrics.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench::resume {

inline constexpr std::int64_t kStepsOfWhole = 5;
inline constexpr std::int64_t kStopsAfter = 2;

inline TensorRecord tensor_at(TensorRole role, const std::string& name, std::int64_t step) {
  return {name, role, "float32", {2}, name + " at " + std::to_string(step), std::nullopt};
}

// Each tensor has the number of the update that made it in its digest.
inline TensorsRecord state_after(std::int64_t step) {
  return {step,
          true,
          {tensor_at(TensorRole::parameter, "w", step), tensor_at(TensorRole::optimizer_state, "w.exp_avg", step),
           tensor_at(TensorRole::buffer, "running_mean", step), tensor_at(TensorRole::scaler_state, "scale", step)}};
}

inline Trace trace_of_steps(std::int64_t first, std::int64_t last) {
  Trace trace;
  trace.header.level = TraceLevel::tensor;
  trace.header.workload_digest = "workload";
  for (std::int64_t step = first; step <= last; ++step) {
    trace.tensors.push_back(
        {step,
         false,
         {tensor_at(TensorRole::input, "input", step), tensor_at(TensorRole::parameter, "w", step - 1),
          tensor_at(TensorRole::parameter_gradient, "w", step),
          tensor_at(TensorRole::optimizer_state, "w.exp_avg", step),
          tensor_at(TensorRole::buffer, "running_mean", step), tensor_at(TensorRole::scaler_state, "scale", step)}});
    StepRecord line;
    line.step = step;
    line.root = "root of " + std::to_string(step);
    line.chain = "chain of " + std::to_string(step);
    trace.steps.push_back(line);
  }
  trace.tensors.push_back(state_after(last));
  return trace;
}

inline RankRecord process_of(Trace trace, const std::string& nonce) {
  RankRecord rank = sample::attempt(0, 1'000'000).ranks.front();
  rank.trace = std::move(trace);
  rank.trace->header.nonce = nonce;
  return rank;
}

// Three processes that agree.
inline CellEvidence stopped_and_resumed() {
  AttemptRecord attempt = sample::attempt(0, 1'000'000);
  attempt.ranks = {process_of(trace_of_steps(1, kStepsOfWhole), "n")};
  RankRecord stopped = process_of(trace_of_steps(1, kStopsAfter), "n.stopped");
  stopped.result->checkpoints = CheckpointsOfRun{{{kStopsAfter, "checkpoint-2", "checksum"}}, {}, {}, {}};
  RankRecord resumed = process_of(trace_of_steps(kStopsAfter + 1, kStepsOfWhole), "n.resumed");
  resumed.trace->header.resumed = ResumedFrom{kStopsAfter, "checkpoint-2", "checksum",
                                              "n.stopped", "chain of 2",   to_hex(root_of_tensors(state_after(2)))};
  attempt.segments = {{AttemptSegment::stopped, {stopped}}, {AttemptSegment::resumed, {resumed}}};
  return {"cell", "cpu", "", {attempt}};
}

inline AttemptRecord& attempt_of(CellEvidence& cell) { return cell.repeats.front(); }
inline Trace& whole_trace(CellEvidence& cell) { return *attempt_of(cell).ranks[0].trace; }
inline Trace& stopped_trace(CellEvidence& cell) { return *attempt_of(cell).segments[0].ranks[0].trace; }
inline Trace& resumed_trace(CellEvidence& cell) { return *attempt_of(cell).segments[1].ranks[0].trace; }

inline std::string hex_chain(const std::string& of) { return to_hex(DigestBuilder().append(of).finish()); }

// The state that those ranks were stopped in, by role and name.
inline std::string state_of_ranks(const std::vector<RankRecord>& stopped) {
  std::map<std::pair<TensorRole, std::string>, TensorRecord> together;
  for (const RankRecord& rank : stopped) {
    for (const TensorRecord& tensor : rank.trace->tensors.back().tensors) together[{tensor.role, tensor.name}] = tensor;
  }
  TensorsRecord record;
  for (const auto& [_, tensor] : together) record.tensors.push_back(tensor);
  return to_hex(root_of_tensors(record));
}

// As a worker says it whose ranks were stopped like that.
inline void prove(AttemptRecord& attempt) {
  std::vector<Digest> chains;
  std::vector<RankRecord>& stopped = attempt.segments[0].ranks;
  for (std::size_t rank = 0; rank < stopped.size(); ++rank) {
    stopped[rank].trace->steps.back().chain = hex_chain("rank " + std::to_string(rank));
    chains.push_back(*digest_from_hex(stopped[rank].trace->steps.back().chain));
    if (rank > 0) stopped[rank].result->checkpoints = CheckpointsOfRun{};
  }
  for (RankRecord& rank : attempt.segments[1].ranks) {
    rank.trace->header.resumed->chain = to_hex(chain_of_ranks(chains));
    rank.trace->header.resumed->state = state_of_ranks(stopped);
  }
}

inline void have_two_ranks(AttemptRecord& attempt) {
  attempt.ranks.push_back(attempt.ranks[0]);
  for (SegmentRecord& segment : attempt.segments) segment.ranks.push_back(segment.ranks[0]);
  prove(attempt);
}

}  // namespace reprobench::resume
