// The operator at which two replays of one step part: equal inputs, different outputs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

struct OperatorDivergence {
  OperatorRecord measured;
  OperatorRecord expected;
  std::size_t output = 0;           // the first that differs
  bool constants_differ = false;    // "1e-05" against "1.1e-05": the callers differ, not the operator
  std::size_t calls_compared = 0;   // pairs before this one
  std::size_t calls_unmatched = 0;  // of both sides: the releases take different operators there
};

template <>
struct Description<OperatorDivergence> {
  static constexpr About about = About::part("operator_divergence", "Equal inputs, different outputs.");
  static void fields(auto& field, OperatorDivergence& divergence) {
    field("measured", divergence.measured);
    field("expected", divergence.expected);
    field("output", divergence.output, "The first that differs.");
    field("constants_differ", divergence.constants_differ);
    field("calls_compared", divergence.calls_compared);
    field("calls_unmatched", divergence.calls_unmatched);
  }
};

// Calls of both sides that correspond, as indices. Callers are aligned first, then what each pair of them calls: where
// the sequences of names and output shapes are equal one by one, else by their longest common subsequence.
std::vector<std::pair<std::size_t, std::size_t>> aligned_calls(std::span<const OperatorRecord> measured,
                                                               std::span<const OperatorRecord> expected);

// Calls stand in the order they end, so what is found is the innermost operator. Memory that nobody has written or that
// a call overwrites counts neither as input nor as output. Nothing: no operator makes a difference out of equal inputs.
std::optional<OperatorDivergence> first_diverging_operator(std::span<const OperatorRecord> measured,
                                                           std::span<const OperatorRecord> expected);

// All innermost operators with equal inputs and different outputs, each name once, in order: what differs between two
// stacks even before one difference leads to the next.
std::vector<std::string> diverging_operator_names(std::span<const OperatorRecord> measured,
                                                  std::span<const OperatorRecord> expected);

}  // namespace reprobench
