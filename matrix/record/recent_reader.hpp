// The segments of a trace of level `recent` (contract/recent_tensors.hpp), put into it.
#pragma once

#include <filesystem>
#include <string>

#include "matrix/record/trace_reader.hpp"

namespace reprobench {

// Adds the tensors of the last steps of `trace`, as it was read from that folder, to those it has: in order of step,
// and none of older steps, whose being there is chance. `is_whole`: it has its final state, so nothing may be cut.
//
// Returns what is wrong, or nothing: "recent-1.jsonl:3: checksum is ...", "recent-1.jsonl: nonce ... does not match
// trace.jsonl's ...", "trace.jsonl: the tensors of step 9,981 are on record nowhere". Then no segment is used.
std::string add_recent_tensors(const std::filesystem::path& folder, bool is_whole, Trace& trace);

}  // namespace reprobench
