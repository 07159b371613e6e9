// Settings that a training cannot have together, such as `zero_stage=3` with a captured step, or replicas with ranks.
// The plan skips such a cell before anything starts, and the worker checks again before its ranks meet. Both give the
// same sentence.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "matrix/contract/request.hpp"

namespace reprobench {

struct Exclusion {
  std::string_view cause;  // the worker's reason to refuse the request: "unsupported" or "bad_request"
  std::string sentence;    // "offload=optimizer with optimizer_layout=flat: a flat layout updates its buffers ..."
};

// The first row of the table that applies to the request on its ranks; `settings` are those of its knobs. An attempt
// that is resumed on other ranks is asked about once for each segment (attempt_segment.hpp).
std::optional<Exclusion> exclusion_of(const CellRequest& request, const Settings& settings);

}  // namespace reprobench
