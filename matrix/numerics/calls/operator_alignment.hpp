// Which calls of two operator traces of one step correspond.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

// Indices into both traces.
using CallPairs = std::vector<std::pair<std::size_t, std::size_t>>;

// Callers are aligned first, then what each pair of them calls. Of one caller's calls those correspond that take and
// make the same values, in whatever order they ran; what stands between two of these is matched by names and output
// shapes: where the sequences are equal one by one, else by their longest common subsequence. In the order the calls of
// `measured` end.
CallPairs aligned_calls(std::span<const OperatorRecord> measured, std::span<const OperatorRecord> expected);

// A tensor whose bytes are on record: neither memory nobody has written, nor one that is only shown otherwise.
inline bool has_content(const OperatorTensor& tensor) { return !tensor.digest.empty(); }

// What went in is the same on both sides, as far as it is on record.
bool inputs_agree(const OperatorRecord& measured, const OperatorRecord& expected);

}  // namespace reprobench
