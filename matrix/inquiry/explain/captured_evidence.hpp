// What is judged of a call was captured by a second replay; what is known to differ was put on record by a first. A
// side that does not repeat itself gives the second other values, and a judgement of those says nothing about the
// difference on record: the digests on record say whether it was captured.
#pragma once

#include <string>

#include "matrix/contract/operator_record.hpp"
#include "matrix/numerics/calls/operator_region.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

// Of a call with all its tensors: "input.1 of aten::addmm was captured with other values than are on record". Empty:
// every digest on record is that of what the file holds.
std::string captured_otherwise(const OperatorRecord& call, const SafetensorsFile& file);

// Of what a subgraph made. The file is that of the call at which it stands on record.
std::string captured_otherwise(const OperatorSubgraph& subgraph, const SafetensorsFile& file);

}  // namespace reprobench
