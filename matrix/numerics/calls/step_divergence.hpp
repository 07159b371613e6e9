// Where two replays of one step diverge: every place at which different values arise from equal ones.
//
// Values are followed from call to call. The first value that only one side has is followed back, on both sides, to
// values that both have. A pair of calls, or a subgraph on each side, made it. A call that takes such a value differs
// because of it. A call that takes none is compared with its partner by itself, so that a second source behind the
// first one shows. An example is the decay of another parameter, behind a product that was summed in another order.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/numerics/calls/operator_divergence.hpp"
#include "matrix/numerics/calls/operator_region.hpp"

namespace reprobench {

// One place where the sides diverge: a pair of calls; a subgraph on each side; both, if a call that both sides make
// calls other operators on each; or neither.
struct DivergencePoint {
  std::optional<OperatorDivergence> call;
  std::optional<OperatorRegion> region;
  bool inputs_agree =
      true;  // false: the call takes values that differ already, and is asked for something else besides
};

struct StepDivergence {
  std::vector<DivergencePoint> sources;   // in the order in which the measured side's calls end
  bool begins_apart = false;              // before them is a value that no call of this step made different
  std::int64_t calls_apart = 0;           // innermost pairs that take values which differ already
  std::int64_t gradient_calls_apart = 0;  // those of them, and calls without a partner, that make values so early that
                                          // a gradient may come of them: before the optimizer

  std::vector<OperatorRecord> from_outside;  // measured calls that take a value which differs and which no call of this
                                             // step made: from the state, the batch, or changed between operators

  bool diverges() const { return begins_apart || !sources.empty() || calls_apart > 0; }
};

StepDivergence divergence_of_step(std::span<const OperatorRecord> measured, std::span<const OperatorRecord> expected);

// The first place. It has neither call nor region if no call of this step is between equal and different values.
DivergencePoint first_divergence(std::span<const OperatorRecord> measured, std::span<const OperatorRecord> expected);

}  // namespace reprobench
