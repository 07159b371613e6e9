// trace.jsonl of one rank as values; at level `recent` with the segments beside it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/contract/trace.hpp"
#include "matrix/record/packed_list.hpp"

namespace reprobench {

struct Trace {
  TraceHeader header;
  StepList steps;
  TensorsList tensors;              // in order of step, at most one record of each, the final state last
  std::int64_t recent_tensors = 0;  // how many of them were in segments
  std::vector<ProbeMeasurement> measurements;
  std::int64_t progress_lines = 0;  // of a probe's measurements; they add nothing to those
  std::string
      recent_problem;   // what is wrong with the segments, of which none is used then; also of a trace that was cut
  std::string problem;  // empty: complete; else "trace.jsonl:118: line cut after 73 bytes; 117 complete lines kept"
};

// Never throws because of the file's content: `problem` says what is wrong, and everything before it is kept. The
// header must be this rank's, the steps must count from `first_step` without a gap, and the final state must close the
// file. At level `recent`, the tensors that it keeps must be on record, and every segment must belong to this trace.
Trace read_trace(const std::filesystem::path& path, const std::string& cell_id, const std::string& nonce,
                 std::int64_t first_step = 1, int rank = 0);

}  // namespace reprobench
