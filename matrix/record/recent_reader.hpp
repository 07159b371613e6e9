// Adds the segments of a trace of level `recent` to that trace (contract/recent_tensors.hpp).
#pragma once

#include <filesystem>
#include <string>

#include "matrix/record/trace_reader.hpp"

namespace reprobench {

// Adds the tensors of the last steps of `trace`, as it was read from that folder, to those it has, in order of step.
// Tensors of older steps are not added, because it is chance whether they are there. `is_whole` says that the trace has
// its final state, so nothing may be cut.
//
// Returns what is wrong, or an empty text: "recent-1.jsonl:3: checksum is ...", "recent-1.jsonl: nonce ... does not
// match trace.jsonl's ...", "trace.jsonl: the tensors of step 9,981 are on record nowhere". If anything is wrong, no
// segment is used.
std::string add_recent_tensors(const std::filesystem::path& folder, bool is_whole, Trace& trace);

}  // namespace reprobench
