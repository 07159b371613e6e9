// For tests: trainings on several ranks, with traces made by hand.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "matrix/verdict/metrics/layout_metrics.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench::layout {

inline TensorRecord tensor(TensorRole role, const std::string& name) {
  return {name, role, "float32", {2}, "digest of " + name, std::nullopt};
}

// Three steps of a model of one weight: `of` names the micro-batches that this rank does.
inline Trace trace_of(const std::vector<std::string>& of) {
  Trace trace;
  trace.header.level = TraceLevel::tensor;
  for (std::int64_t step = 1; step <= 3; ++step) {
    TensorsRecord record{step, false, {}};
    const auto add_own = [&](TensorRole role, const char* name) {
      for (const std::string& number : of) record.tensors.push_back(tensor(role, name + ("#" + number)));
    };
    add_own(TensorRole::input, "input");
    record.tensors.push_back(tensor(TensorRole::parameter, "w"));
    add_own(TensorRole::forward_output, "fc1");
    record.tensors.push_back(tensor(TensorRole::loss, "loss"));
    add_own(TensorRole::parameter_gradient, "w");
    record.tensors.push_back(tensor(TensorRole::parameter_gradient, "w"));
    record.tensors.push_back(tensor(TensorRole::optimizer_state, "w.exp_avg"));
    record.tensors.push_back(tensor(TensorRole::buffer, "running_mean"));
    trace.tensors.push_back(record);
    StepRecord line;
    line.step = step;
    trace.steps.push_back(line);
  }
  trace.tensors.push_back({3, true, {tensor(TensorRole::parameter, "w"), tensor(TensorRole::buffer, "running_mean")}});
  return trace;
}

inline CellEvidence evidence_of(const std::vector<std::vector<std::string>>& micro_batches) {
  AttemptRecord attempt = sample::attempt(0, 1'000'000);
  attempt.ranks.resize(micro_batches.size(), attempt.ranks.front());
  for (std::size_t rank = 0; rank < micro_batches.size(); ++rank) {
    attempt.ranks[rank].trace = trace_of(micro_batches[rank]);
    attempt.ranks[rank].result->knobs_resolved = {{"threads", "1"}, {"accumulate", "1"}};
  }
  return {"on-" + std::to_string(micro_batches.size()), "cpu", "", {attempt}};
}

inline TensorRecord& tensor_of(CellEvidence& cell, std::size_t rank, std::size_t record, TensorRole role,
                               const std::string& name) {
  for (TensorRecord& one : cell.repeats[0].ranks[rank].trace->tensors[record].tensors) {
    if (one.role == role && one.name == name) return one;
  }
  throw std::logic_error("no such tensor");
}

inline CellResult& result_of(CellEvidence& cell, std::size_t rank) { return *cell.repeats[0].ranks[rank].result; }

inline CellEvidence two_ranks() { return evidence_of({{"0"}, {"1"}}); }
inline const CellEvidence kAlone = evidence_of({{"0", "1"}});

inline std::string missing_of(const CellEvidence& cell) { return differing_ranks_of_training(cell, nullptr).missing; }
inline std::string missing_of(const CellEvidence& cell, const CellEvidence& alone) {
  return differing_from_one_rank(cell, &alone).missing;
}

}  // namespace reprobench::layout
