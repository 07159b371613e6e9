// What the steps of a trace say of each other, worked out again: a step's root from the digests of its tensors, where
// they are on record, and its chain from the link before, its root and its loss.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {

// "trace.jsonl: the chain of step 17 does not follow from its root and loss"; empty: all do.
std::string chain_gap(const Trace& trace, const CellRequest& request);

// The root that a step, or a state, has by these tensors.
Digest root_of_tensors(const TensorsRecord& tensors);

// Whether two traces of one workload say the same up to and with `step`, by the chain after it. False where one of them
// does not reach that step.
bool same_course(const Trace& trace, const Trace& other, std::int64_t step);

}  // namespace reprobench
