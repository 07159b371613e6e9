// How much memory a worker says an attempt will take, before it is started: the reply of `reprobench-worker predict`.
// What nobody has counted is not zero but "not predicted", with the reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

// Bytes at the moment of a step at which most are needed, of all ranks.
struct AttemptMemory {
  std::string why_not;  // "attention=flash"; nothing is predicted then, and all numbers are 0
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;  // of parameters, by that moment
  std::int64_t optimizer = 0;
  std::int64_t scratch = 0;
  std::int64_t buffers = 0;
  std::int64_t activations = 0;  // the batch, what is made of it, and gradients of that
  std::int64_t holes = 0;        // what the heap cannot use between tensors that are alive
  std::int64_t process = 0;      // before anything is trained

  bool is_predicted() const { return why_not.empty(); }
  std::int64_t total() const {
    return parameters + gradients + optimizer + scratch + buffers + activations + holes + process;
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
    field("parameters", need.parameters, rule::at_least(0));
    field("gradients", need.gradients, rule::at_least(0));
    field("optimizer", need.optimizer, rule::at_least(0));
    field("scratch", need.scratch, rule::at_least(0));
    field("buffers", need.buffers, rule::at_least(0));
    field("activations", need.activations, rule::at_least(0));
    field("holes", need.holes, rule::at_least(0).says("What the heap cannot use between tensors."));
    field("process", need.process, rule::at_least(0));
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
