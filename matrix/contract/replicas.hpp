// Several replicas of the model in one process (the knob `replicas`): what a request may not ask for beside them. The
// plan skips such a cell and the worker refuses it, in the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "matrix/contract/request.hpp"

namespace reprobench {

// 1 where the request says nothing of it.
std::int64_t replicas_of(const KnobValues& knobs);

// Why that training cannot have the replicas it asks for: a sentence with the setting that stands against it. Nothing
// for one replica. `most_ranks`: of its attempt's segments.
std::optional<std::string> why_no_replicas(const CellRequest& request, int most_ranks);

}  // namespace reprobench
