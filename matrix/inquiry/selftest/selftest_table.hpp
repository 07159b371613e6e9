// The rows of `selftest`: what is planted, and what has to be found.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "matrix/contract/trace.hpp"

namespace reprobench {

// The place where the first difference from a clean run has to be.
enum class PlantedAt {
  parameter,        // the tensor named, entering the step
  gradient,         // its gradient in that step
  moment,           // its first moment after that step
  input,            // the batch of that step
  any_moment,       // some optimizer state after that step
  own_update,       // what the optimizer keeps of the tensor named after that step, or it entering the next
  next_parameters,  // some parameter entering the next step
  operator_output,  // anything in that step
  end_of_run,       // the run ends in that step, because its loss is not finite
  not_comparable,   // the workload digest is another
  anywhere,         // a change that may or may not move bits
};

enum class FaultTarget { none, parameter, bias, sample, product, module };

struct SelftestFault {
  std::string_view kind;  // of an injection; with `=` a knob: "threads=2"
  FaultTarget target;
  PlantedAt place;
  std::string_view judged;  // by B2: "defect", "rounding"; "any": shown only, near what B2 can see; empty: not asked
  bool needs_transformer;   // sits in an operator that only gpt2 has
  // What `compare --explain` has to answer: "rounding", or "wrong" for a defect or another computation; empty: it is
  // not asked. It has to blame one of these operators, or a subgraph that ends in one; if there are none, any will do.
  std::string_view answer = {};
  std::string_view operators = {};
  std::string_view module = {};  // how the names of those end of which one is drawn to be made by other calls
  std::string_view beside = {};  // a knob that differs besides, in front of what is planted, from the first step on
};

// "gelu_constant beside cpu_isa=default".
std::string name_of(const SelftestFault& fault);

std::span<const SelftestFault> selftest_faults();

}  // namespace reprobench
