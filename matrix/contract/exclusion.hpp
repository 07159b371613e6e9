// Settings that a training cannot have together: `zero_stage=3` with a captured step, replicas with ranks. The plan
// skips such a cell before anything starts, and the worker asks again before its ranks meet; both give the same
// sentence.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "matrix/contract/request.hpp"

namespace reprobench {

struct Exclusion {
  std::string_view cause;  // as a worker refuses the request: "unsupported" or "bad_request"
  std::string sentence;    // "offload=optimizer with optimizer_layout=flat: a flat layout updates its buffers ..."
};

// The first row of the table that the request falls under. `most_ranks`: of the segments of its attempt
// (most_ranks_of() in attempt_segment.hpp); a worker gives its own number of ranks.
std::optional<Exclusion> exclusion_of(const CellRequest& request, int most_ranks);

}  // namespace reprobench
