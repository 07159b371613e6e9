#include "matrix/evidence/trace_chain.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/recent_tensors.hpp"

namespace reprobench {
namespace {

std::string root_gap(const Trace& trace) {
  auto tensors = trace.tensors.begin();  // both lists are in the order of steps
  for (const StepRecord& step : trace.steps) {
    const bool has_tensors = tensors != trace.tensors.end() && !tensors->is_final && tensors->step == step.step;
    if (!has_tensors) {
      if (!keeps_tensors(trace.header.level, step.step, trace.steps.back().step)) continue;
      return fmt::format("trace.jsonl: the tensors of step {} are missing", step.step);
    }
    if (to_hex(root_of_tensors(*tensors)) != step.root) {
      return fmt::format("trace.jsonl: the root of step {} does not follow from its tensors", step.step);
    }
    ++tensors;
  }
  const bool is_over = tensors == trace.tensors.end() || tensors->is_final;
  return is_over ? "" : fmt::format("trace.jsonl: tensors of step {} belong to no step", tensors->step);
}

const StepRecord* record_of(const Trace& trace, std::int64_t step) {
  const auto found = std::ranges::find(trace.steps, step, &StepRecord::step);
  return found == trace.steps.end() ? nullptr : &*found;
}

}  // namespace

Digest root_of_tensors(const TensorsRecord& tensors) {
  DigestBuilder root;
  for (const TensorRecord& tensor : tensors.tensors) {
    append_tensor(root, tensor.name, to_string(tensor.role), tensor.digest);
  }
  return root.finish();
}

std::string chain_gap(const Trace& trace, const CellRequest& request) {
  // A replay goes on from a state, which holds the link before its first step; every other chain begins at the
  // workload.
  const bool goes_on = request.replay && !request.replay->from_state.empty();
  std::optional<Digest> previous;
  if (!goes_on) previous = digest_from_hex(trace.header.workload_digest);
  // What it says it went on from is held against who was stopped there (verdict/metrics/resume_metrics.hpp).
  if (trace.header.resumed) previous = digest_from_hex(trace.header.resumed->chain);
  for (const StepRecord& step : trace.steps) {
    const auto chain = digest_from_hex(step.chain);
    const auto root = digest_from_hex(step.root);
    const auto& loss_bits = step.loss.at("bits").get_ref<const std::string&>();
    if (!chain || !root || (previous && step_chain_digest(*previous, *root, loss_bits) != *chain)) {
      return fmt::format("trace.jsonl: the chain of step {} does not follow from its root and loss", step.step);
    }
    previous = chain;
  }
  return digests_tensors(trace.header.level) ? root_gap(trace) : "";
}

bool same_course(const Trace& trace, const Trace& other, std::int64_t step) {
  const StepRecord* last = record_of(trace, step);
  const StepRecord* other_last = record_of(other, step);
  return last != nullptr && other_last != nullptr && last->chain == other_last->chain;
}

}  // namespace reprobench
