// Finds the calls of two operator traces of one step that correspond.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

// Indices into both traces.
using CallPairs = std::vector<std::pair<std::size_t, std::size_t>>;

// Callers are aligned first, then the calls that each pair of them makes. Among these, calls correspond if they take
// and make the same values, in whatever order they ran. The calls between two such pairs are matched by names and
// output shapes: one by one if the sequences are equal, else by their longest common subsequence. The result is in the
// order in which the calls of `measured` end.
CallPairs aligned_calls(std::span<const OperatorRecord> measured, std::span<const OperatorRecord> expected);

// Whether the tensor's bytes are on record. They are not for memory that nobody has written, and for a view of another
// tensor.
inline bool has_content(const OperatorTensor& tensor) { return !tensor.digest.empty(); }

// Whether the inputs are the same on both sides, as far as they are on record.
bool inputs_agree(const OperatorRecord& measured, const OperatorRecord& expected);

}  // namespace reprobench
