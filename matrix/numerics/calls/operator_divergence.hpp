// The operator at which two replays of one step diverge: equal inputs, different outputs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

struct OperatorDivergence {
  OperatorRecord measured;
  OperatorRecord expected;
  std::size_t output = 0;           // the first that differs
  bool constants_differ = false;    // "1e-05" against "1.1e-05": the callers differ, not the operator
  std::size_t calls_compared = 0;   // pairs before this one
  std::size_t calls_unmatched = 0;  // of both sides: there the releases use different operators
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

// "bn1.running_var" if the output that differs is a buffer which the call fills and does not return; else empty.
std::string filled_buffer(const OperatorDivergence& call);

// Whether two calls have equal constants. Releases differ in whether they record an optional argument that is absent.
// If one has more of them, "none, 1, -100" equals "1, -100". If both have as many, each has to be equal.
bool same_constants(const std::string& measured, const std::string& expected);

// Index of the first output that both sides wrote and that differs. Memory that nobody has written, or that a call
// overwrites, is neither an input nor an output.
std::optional<std::size_t> differing_output(const OperatorRecord& measured, const OperatorRecord& expected);

// All innermost operators with equal inputs and different outputs, each name once, in order. They differ between two
// stacks even before one difference leads to the next.
std::vector<std::string> diverging_operator_names(std::span<const OperatorRecord> measured,
                                                  std::span<const OperatorRecord> expected);

}  // namespace reprobench
