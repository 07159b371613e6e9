// A first replay records which calls differ; a second one captures their tensors to be judged. A side that does not
// repeat itself gives the second replay other values. A judgement of those would say nothing about the recorded
// difference. So the recorded digests show whether the same values were captured.
#pragma once

#include <string>

#include "matrix/contract/operator_record.hpp"
#include "matrix/numerics/calls/operator_region.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

// Checks a call with all its tensors: "input.1 of aten::addmm was captured with other values than are on record". Empty
// if the file's tensors have all the recorded digests.
std::string captured_otherwise(const OperatorRecord& call, const SafetensorsFile& file);

// Checks the results of a subgraph. The file is that of the call under which the subgraph is recorded.
std::string captured_otherwise(const OperatorSubgraph& subgraph, const SafetensorsFile& file);

}  // namespace reprobench
