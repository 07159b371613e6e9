// How much memory a worker says an attempt will take, before it is started: the reply of `reprobench-worker predict`.
// Memory that cannot be counted is "not predicted", with the reason, and never zero.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

// The need at the moment of a step at which most memory is needed, of all ranks.
struct AttemptMemory {
  std::string why_not;  // "attention=flash"; nothing is predicted then, and all numbers are 0
  std::int64_t parameter_bytes = 0;
  std::int64_t gradient_bytes = 0;  // gradients of parameters that exist at that moment
  std::int64_t optimizer_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::int64_t buffer_bytes = 0;
  std::int64_t activation_bytes = 0;  // the batch, the activations made of it, and their gradients
  std::int64_t hole_bytes = 0;        // free memory between live tensors that the heap cannot use
  std::int64_t process_bytes = 0;     // the process itself, before anything is trained
  // The same process can also check a user's weights. Each sentence names one way in which they do not fit the model.
  std::vector<std::string> weights_problems = {};

  bool is_predicted() const { return why_not.empty(); }
  std::int64_t total() const {
    return parameter_bytes + gradient_bytes + optimizer_bytes + scratch_bytes + buffer_bytes + activation_bytes +
           hole_bytes + process_bytes;
  }
};

struct MemoryPredictions {
  std::vector<AttemptMemory> needs;  // one for each request, in their order
};

template <>
struct Description<AttemptMemory> {
  static constexpr About about = About::part("attempt_memory", "Bytes at the moment at which most are needed.");
  static void fields(auto& field, AttemptMemory& need) {
    field("why_not", need.why_not, "Why nothing is predicted; empty if it is.");
    field("parameter_bytes", need.parameter_bytes, rule::at_least(0));
    field("gradient_bytes", need.gradient_bytes, rule::at_least(0));
    field("optimizer_bytes", need.optimizer_bytes, rule::at_least(0));
    field("scratch_bytes", need.scratch_bytes, rule::at_least(0));
    field("buffer_bytes", need.buffer_bytes, rule::at_least(0));
    field("activation_bytes", need.activation_bytes, rule::at_least(0));
    field("hole_bytes", need.hole_bytes, rule::at_least(0).says("What the heap cannot use between tensors."));
    field("process_bytes", need.process_bytes, rule::at_least(0));
    field.optional("weights_problems", need.weights_problems, "What a user's weights have against the model.");
    field.hold(need.is_predicted() == (need.total() > 0), "is predicted and of no bytes, or neither");
  }
};

template <>
struct Description<MemoryPredictions> {
  static constexpr About about =
      About::document("memory", "The reply of `reprobench-worker predict`: what attempts will take");
  static void fields(auto& field, MemoryPredictions& predictions) { field("needs", predictions.needs); }
};

nlohmann::json to_json(const MemoryPredictions& predictions);

// Throws ContractError naming the field.
MemoryPredictions memory_predictions_from_json(const nlohmann::json& json);

// "31.2 GB: 1.5 parameters + 1.5 gradients + 3.0 optimizer + 1.5 scratch + 0.0 buffers + 20.1 activations +
// 4.0 holes + 0.1 process"
std::string arithmetic_of(const AttemptMemory& need);

}  // namespace reprobench
