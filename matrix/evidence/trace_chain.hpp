// What the steps of a trace say of each other, worked out again: a step's root from the digests of its tensors, where
// they are on record, and its chain from the link before, its root and its loss.
#pragma once

#include <string>

#include "matrix/contract/request.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {

// "trace.jsonl: the chain of step 17 does not follow from its root and loss"; empty: all do. A trace of contract 1.1 or
// older, whose chains left out the loss, has nothing to answer for.
std::string chain_gap(const Trace& trace, const CellRequest& request);

}  // namespace reprobench
