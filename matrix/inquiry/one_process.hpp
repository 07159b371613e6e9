// A training that is shared out among ranks, or among replicas of the model, once more in one process.
//
// Two ranks train otherwise on another stack, but a replay with every operator on record is one process. Every layout
// makes the same bits (ADR 23). So one process does all micro-batches of a step one after the other, on both stacks.
// Where it has the bits of the ranks, what is said of its difference holds for theirs.
#pragma once

#include "matrix/inquiry/compared_sides.hpp"

namespace reprobench {

// Whether several ranks or replicas do the micro-batches of a step.
bool is_shared_out(const CellRequest& request);

// The request in which one process does them all, with every tensor on record. A fault that was planted in one rank is
// not planted again.
CellRequest in_one_process(CellRequest request);

struct OneProcess {
  SidePair sides;
  OneProcessJudgement judgement;  // `equal`: what is said of `sides` holds for the ranks
};

// Trains both sides in one process. Ranks without every tensor on record are trained once more, too, and have to have
// their losses. The traces of `shared` are read, of every rank. Throws ReplayFailed.
OneProcess train_in_one_process(const SidePair& shared, Replays& replays);

}  // namespace reprobench
