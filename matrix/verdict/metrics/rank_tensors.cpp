#include "matrix/verdict/metrics/rank_tensors.hpp"

#include <bit>
#include <cstdint>

#include <fmt/format.h>

namespace reprobench {

bool is_of_one_micro_batch(const TensorRecord& tensor) { return tensor.name.find('#') != std::string::npos; }

std::string replica_of(const TensorRecord& tensor) {
  const std::size_t at = tensor.role == TensorRole::parameter ? tensor.name.find('@') : std::string::npos;
  return at == std::string::npos ? "" : tensor.name.substr(at + 1);
}

bool is_shared(const TensorRecord& tensor) {
  const bool is_reduced = tensor.role == TensorRole::parameter || tensor.role == TensorRole::loss ||
                          tensor.role == TensorRole::parameter_gradient || tensor.role == TensorRole::optimizer_state ||
                          tensor.role == TensorRole::scaler_state;
  return is_reduced && !is_of_one_micro_batch(tensor);
}

bool is_shared_out(const TensorRecord& tensor, int zero_stage) {
  if (is_of_one_micro_batch(tensor)) return false;
  return (zero_stage >= 1 && tensor.role == TensorRole::optimizer_state) ||
         (zero_stage >= 2 && tensor.role == TensorRole::parameter_gradient) ||
         (zero_stage >= 3 && tensor.role == TensorRole::parameter);
}

int zero_stage_of(const RankRecord& rank) {
  return said_of<&Settings::zero_stage>(rank.result->knobs_resolved).value_or(0);
}

std::string accumulate_of(const RankRecord& rank) {
  const auto count = said_of<&Settings::accumulate>(rank.result->knobs_resolved);
  return count ? std::to_string(*count) : "";
}

bool adds_up_a_subtree(const RankRecord& rank) {
  const auto count = said_of<&Settings::accumulate>(rank.result->knobs_resolved);
  return count && std::has_single_bit(static_cast<std::uint64_t>(*count));
}

std::string incomplete(const AttemptRecord& attempt) {
  const std::size_t steps = attempt.lead().trace->steps.size();
  for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const Trace& trace = *attempt.ranks[rank].trace;
    if (trace.header.level != TraceLevel::tensor) return "digests of every tensor are needed: `trace: tensor`";
    if (trace.steps.size() == steps && trace.tensors.size() == steps + 1) continue;
    return fmt::format("rank {} has tensors of {} of {} steps", rank, trace.tensors.size(), steps);
  }
  return "";
}

std::string place_of(const TensorsRecord& record) {
  return record.is_final ? "the state after the last step" : fmt::format("step {}", record.step);
}

void add_trained_parameters(const TensorsRecord& record, std::set<std::string>& trained) {
  for (const TensorRecord& tensor : record.tensors) {
    if (tensor.role == TensorRole::parameter_gradient) trained.insert(tensor.name.substr(0, tensor.name.find('#')));
  }
}

std::string without_holder(const std::set<TensorKey>& held, const std::set<std::string>& trained, int zero_stage,
                           bool is_final) {
  if (zero_stage == 0) return "";
  std::set<std::string> kept;  // ".exp_avg"
  for (const auto& [role, name] : held) {
    if (role == TensorRole::optimizer_state) kept.insert(name.substr(name.rfind('.')));
  }
  if (kept.empty()) return "no rank recorded any optimizer state";
  for (const std::string& parameter : trained) {
    if (!is_final && zero_stage >= 2 && !held.contains({TensorRole::parameter_gradient, parameter})) {
      return fmt::format("no rank recorded the gradient of `{}`", parameter);
    }
    if (zero_stage >= 3 && !held.contains({TensorRole::parameter, parameter})) {
      return fmt::format("no rank recorded `{}`", parameter);
    }
    for (const std::string& suffix : kept) {
      if (held.contains({TensorRole::optimizer_state, parameter + suffix})) continue;
      return fmt::format("no rank recorded `{}`", parameter + suffix);
    }
  }
  return "";
}

RecordedTensors recorded_by(const std::vector<const TensorsRecord*>& ranks) {
  RecordedTensors tensors;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::size_t place = 0;
    for (const TensorRecord& tensor : ranks[rank]->tensors) {
      Recorded& recorded = tensors[{tensor.role, tensor.name}];
      if (recorded.ranks.empty()) recorded.place = place;
      ++place;
      recorded.ranks.push_back(rank);
      recorded.tensors.push_back(&tensor);
    }
  }
  return tensors;
}

}  // namespace reprobench
